import type { EventLog } from '@rollcall/shared/bus';
import { bulkAggregate } from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { dataOfOperations, heldOperationsPlace } from '@rollcall/shared/resources';
import { desiredOperations } from '../desired/desired-operations.ts';
import type { Pass } from '../queue/work-queue.ts';
import type { ObjectWriter } from './write-object.ts';

type Data = Readonly<Record<string, string>>;

/** Shows what of a bulk change waits. Rarely there is any, so the ConfigMap is read and not watched. */
export function createOperationsProjection(tools: {
  readonly log: Pick<EventLog, 'read'>;
  readonly client: Pick<KubeClient, 'get'>;
  readonly writer: Pick<ObjectWriter, 'patchUnwatched'>;
  readonly nowMs: () => number;
}): () => Promise<Pass> {
  const { log, client, writer, nowMs } = tools;
  return async () => {
    const { operations, againInMs } = desiredOperations(await log.read(bulkAggregate), nowMs());
    const data = dataOfOperations(operations);
    const shown = await client.get<KubeObject & { readonly data?: Data }>(
      resources.configMaps,
      heldOperationsPlace,
    );
    const differs = Object.entries(data).some(([key, text]) => (shown?.data?.[key] ?? null) !== text);
    if (differs) await writer.patchUnwatched(resources.configMaps, heldOperationsPlace, { data });
    return { isShown: true, againInMs };
  };
}
