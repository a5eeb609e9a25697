import type { EventLog } from '@rollcall/shared/bus';
import { wishesAggregate } from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { dataOfWishes, heldWishesPlace } from '@rollcall/shared/resources';
import { desiredWishes } from '../desired/desired-wishes.ts';
import type { Pass } from '../queue/dirty-objects.ts';
import type { ObjectWriter } from './write-object.ts';

type Data = Readonly<Record<string, string>>;

/** Shows what of a mass of wishes waits. Rarely there is any, so the ConfigMap is read and not watched. */
export function createWishesProjection(tools: {
  readonly log: Pick<EventLog, 'read'>;
  readonly client: Pick<KubeClient, 'get'>;
  readonly writer: Pick<ObjectWriter, 'patchUnwatched'>;
  readonly nowMs: () => number;
}): () => Promise<Pass> {
  const { log, client, writer, nowMs } = tools;
  return async () => {
    const { wishes, againInMs } = desiredWishes(await log.read(wishesAggregate), nowMs());
    const data = dataOfWishes(wishes);
    const shown = await client.get<KubeObject & { readonly data?: Data }>(
      resources.configMaps,
      heldWishesPlace,
    );
    const differs = Object.entries(data).some(([key, text]) => (shown?.data?.[key] ?? null) !== text);
    if (differs) await writer.patchUnwatched(resources.configMaps, heldWishesPlace, { data });
    return { isShown: true, againInMs };
  };
}
