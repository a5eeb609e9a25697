import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { heldOperationsPlace, readShownOperations, type ShownOperation } from '@rollcall/shared/resources';
import { waitForObject } from '../wait-for-object.ts';
import type { OperationsObject } from './shown-operations.ts';

/** What a person has written, as the hub shows it where it is held. */
export interface WrittenOperation {
  readonly clusterId: string;
  /** The event that follows from it. */
  readonly type: 'approved' | 'banned' | 'denied' | 'leaving' | 'revoked';
  readonly timeoutMs: number;
}

/** Floods of the same cluster may be held as well: whoever confirmed those would put out what a service says. They are nobody's, as a deletion may be. */
const isWritten = ({ clusterId, type }: WrittenOperation, shown: ShownOperation): boolean =>
  shown.clusterId === clusterId && shown.operation === type && (type === 'leaving' || shown.by !== 'unknown');

/** Resolves once the hub shows that such an operation about this cluster is held; never, for who may not see that. */
async function untilHeld(
  client: KubeClient,
  operation: WrittenOperation,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { timeoutMs } = operation;
  let id: string | undefined;
  const on = { resource: resources.configMaps, ...heldOperationsPlace, timeoutMs, signal };
  try {
    await waitForObject<OperationsObject>(client, on, ({ data }) => {
      const { held } = readShownOperations(data);
      if (held?.operations.some((shown) => isWritten(operation, shown))) id = held.id;
      return id !== undefined;
    });
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
  }
  return id;
}

/**
 * Waits until the hub has acted on an operation that was written, and ends early where it is held with a bulk change.
 * @param acted - ends when the signal says so
 * @throws RollcallError BULK_HELD with the id to confirm; what `acted` throws
 */
export async function actedOrHeld<Result>(
  client: KubeClient,
  operation: WrittenOperation,
  acted: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const { signal } = ending;
  const acting = acted(signal);
  const holding = untilHeld(client, operation, signal);
  try {
    // Whoever is not held goes on waiting for the effect.
    return await Promise.race([
      acting,
      holding.then((id) => {
        if (id === undefined) return acting;
        throw new RollcallError(
          'BULK_HELD',
          `your operation is written, and the hub holds it, because many members were put out lately: \`rollcall get operations\` shows what waits, \`rollcall confirm ${id}\` has all of it acted on`,
        );
      }),
    ]);
  } finally {
    ending.abort();
    await Promise.allSettled([acting, holding]);
  }
}
