import { toRollcallError } from '@rollcall/shared/errors';
import type { ServiceContext } from '@rollcall/shared/service';
import { newestShown } from '../apply/newest-shown-witness.ts';
import type { Projection } from '../apply/projection.ts';

/** What Kubernetes shows is a witness of the history that no loss of the bus takes along: whoever keeps the other one is told. */
export async function compareHistory(
  { nc, history, logger }: ServiceContext,
  { view }: Projection,
  epoch: number,
): Promise<void> {
  const shown = newestShown(view, epoch);
  if (!shown) return;
  history.remember(shown);
  await history.look().catch((thrown: unknown) => {
    nc.publish('rollcall.history.witnessed', JSON.stringify(shown));
    logger.error(
      { err: toRollcallError(thrown) },
      'Kubernetes shows an event that the history does not have',
    );
    throw thrown;
  });
}
