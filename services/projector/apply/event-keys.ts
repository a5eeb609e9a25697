import type { EventLog } from '@rollcall/shared/bus';
import { admissionAggregate, type StoredEvent, bulkAggregate } from '@rollcall/shared/events';
import type { WorkQueue } from '../queue/work-queue.ts';

/** Keys of what is projected together: a cluster's two objects, a token, a policy, a set. */
export const clusterKey = (clusterId: string) => `cluster/${clusterId}`;
export const tokenKey = (id: string) => `token/${id}`;
export const policyKey = (id: string) => `policy/${id}`;
/** A ManagedCluster by its name, that a person made beforehand. */
export const predefinedKey = (name: string) => `predefined/${name}`;
export const setKey = (name: string) => `set/${name}`;
/** The bulk change that waits: one for the hub. */
export const operationsKey = `operations/${bulkAggregate.id}`;

/** What people wrote that does not count: one list for the hub. */
const admissionKey = `admission/${admissionAggregate.id}`;

/** What an event touches; undefined for kinds that nothing is shown of. */
export function keyOfEvent(event: Pick<StoredEvent, 'kind' | 'id'>): string | undefined {
  switch (event.kind) {
    case 'cluster':
      return clusterKey(event.id);
    case 'token':
      return tokenKey(event.id);
    case 'policy':
      return policyKey(event.id);
    case 'hub':
      if (event.id === admissionAggregate.id) return admissionKey;
      return event.id === bulkAggregate.id ? operationsKey : undefined;
    default:
      // A set shows a count of what is there; its events say nothing that is shown.
      return undefined;
  }
}

/** In a registration something more to show follows this within milliseconds, and each look costs a read of the bus. */
const nextWordWithinMs = 50;
/** Between approval and first heartbeat. Each of them alone changes nothing that has to be seen before that. */
const onTheWay = new Set(['cluster.admitted', 'cluster.provisioned']);

/** Whoever has one has most likely a hundred. */
const nextOperationWithinMs = 200;

/**
 * How long the projection may wait for the event that follows this one.
 * @param joinDebounceMs - how long the status of an approved cluster waits for its first heartbeat
 */
export function mayWaitMs(
  { kind, type }: Pick<StoredEvent, 'kind' | 'type'>,
  joinDebounceMs: number,
): number {
  if (kind === 'hub') return nextOperationWithinMs;
  const name = `${kind}.${type}`;
  if (onTheWay.has(name)) return joinDebounceMs;
  return name === 'cluster.requested' ? nextWordWithinMs : 0;
}

/** Marks everything that something ever happened to and that is shown. @returns how many objects that are */
export async function markWholeHistory(
  log: Pick<EventLog, 'aggregates'>,
  queue: Pick<WorkQueue, 'mark'>,
): Promise<number> {
  const marked = new Set<string>();
  for await (const aggregate of log.aggregates(['cluster', 'token', 'policy'])) {
    const key = keyOfEvent(aggregate);
    if (key === undefined || marked.has(key)) continue;
    queue.mark(key, 'fact');
    marked.add(key);
  }
  return marked.size;
}
