import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { type ClusterRecord, clusterRecord, parseEventSubject } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** What changes who is a member, how often it beats, or what another replica has said of it. */
const watchedTypes = [
  'admitted',
  'left',
  'approved',
  'changed',
  'cordoned',
  'uncordoned',
  'denied',
  'revoked',
  'banned',
  'leaving',
  'joined',
  'ready',
  'suspect',
  'unreachable',
  'stopped',
  'member-down',
  'flapping',
  'key-shared',
  'key-unshared',
] as const;

/** A heard event may not be stored yet, or the stream may have refused it: then the record is read again, later each time. */
const readAgainAfterMs = [20, 200, 2000];
/** Whoever is approved for the first time is admitted within it, and that says more: nothing is read for the approval alone. */
const nextWordWithinMs = 250;
/** Reads under way; more wait their turn. */
const readsAtOnce = 64;

export interface RecordWatch {
  /** What is heard is read from now on; before that it only waits. */
  open(): void;
  /** What is heard waits again. */
  close(): void;
  stop(): Promise<void>;
}

interface Hint {
  readonly clusterId: string;
  readonly type: string;
  readonly eventId: string;
  readonly attempt: number;
}

/**
 * Reads a cluster's record again when an event about it is heard. What is heard is only a hint: the record comes from the
 * stream.
 * @param options.isNews - false for an event that says what is known already (our own transitions)
 * @param options.isKnown - whether the cluster is a member as far as we know
 * @param options.changed - is given each record that was read
 */
export function watchRecords(
  nc: NatsConnection,
  options: {
    log: Pick<EventLog, 'read'>;
    logger: Logger;
    isNews(clusterId: string, type: string): boolean;
    isKnown(clusterId: string): boolean;
    changed(clusterId: string, record: ClusterRecord): void;
  },
): RecordWatch {
  const waiting = new Map<string, Hint>();
  const running = new Set<Promise<void>>();
  /** One read at a time for each cluster: of two, the older one may end later, and what it says would be believed. */
  const reading = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  /** The last approval of a cluster that waits for the next word about it. */
  const patient = new Map<string, { hint: Hint; timer: NodeJS.Timeout }>();
  let isOpen = false;

  function forgetPatient(clusterId: string): void {
    const one = patient.get(clusterId);
    if (!one) return;
    clearTimeout(one.timer);
    timers.delete(one.timer);
    patient.delete(clusterId);
  }
  function heard(hint: Hint): void {
    if (hint.type !== 'approved' || options.isKnown(hint.clusterId)) return enqueue(hint);
    forgetPatient(hint.clusterId);
    const timer = setTimeout(() => {
      forgetPatient(hint.clusterId);
      enqueue(hint);
    }, nextWordWithinMs);
    timers.add(timer);
    patient.set(hint.clusterId, { hint, timer });
  }
  function enqueue(hint: Hint): void {
    waiting.set(`${hint.clusterId} ${hint.eventId}`, hint);
    pump();
  }
  function later(hint: Hint): void {
    const delayMs = readAgainAfterMs[hint.attempt];
    if (delayMs === undefined) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      enqueue({ ...hint, attempt: hint.attempt + 1 });
    }, delayMs);
    timers.add(timer);
  }
  async function read(hint: Hint): Promise<void> {
    try {
      const record = clusterRecord(await options.log.read({ kind: 'cluster', id: hint.clusterId }));
      options.changed(hint.clusterId, record);
      const tellsOf = ({ eventId }: Hint) =>
        Object.values(record.lastOf).some((event) => event.eventId === eventId);
      const waits = patient.get(hint.clusterId);
      if (waits && tellsOf(waits.hint)) forgetPatient(hint.clusterId);
      if (!tellsOf(hint)) later(hint);
    } catch (error) {
      options.logger.warn({ err: error as Error, clusterId: hint.clusterId }, 'record could not be read');
      later(hint);
    }
  }
  function pump(): void {
    if (!isOpen) return;
    for (const [name, hint] of waiting) {
      if (running.size >= readsAtOnce) return;
      const { clusterId } = hint;
      if (reading.has(clusterId)) continue;
      waiting.delete(name);
      if (!options.isNews(clusterId, hint.type)) continue;
      const work = read(hint).finally(() => {
        running.delete(work);
        reading.delete(clusterId);
        pump();
      });
      running.add(work);
      reading.add(clusterId);
    }
  }

  const subscriptions = watchedTypes.map((type) =>
    nc.subscribe(`rollcall.events.cluster.*.${type}`, {
      callback: (error, message) => {
        const place = error ? undefined : parseEventSubject(message.subject);
        if (!place) return;
        const eventId = message.headers?.get('ce-id') ?? '';
        heard({ clusterId: place.id, type: place.type, eventId, attempt: 0 });
      },
    }),
  );
  return {
    open() {
      isOpen = true;
      pump();
    },
    close() {
      isOpen = false;
    },
    async stop() {
      isOpen = false;
      for (const subscription of subscriptions) subscription.unsubscribe();
      for (const timer of timers) clearTimeout(timer);
      await Promise.allSettled(running);
    },
  };
}
