import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import {
  admitted,
  approved,
  clusterRecord,
  type Decision,
  type Identity,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import type { MemberSections } from './membership.ts';

/** What changes who is a member, how often it sends heartbeats, or what another replica has said of it. */
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

const isWatched: ReadonlySet<string> = new Set(watchedTypes);

/** The record could not be read: again, later each time, and then after the last of them for as long as it takes. */
const readAgainAfterMs = [20, 200, 2000];
/**
 * Whoever is approved for the first time is admitted within it, in a burst of hundreds as well, and that says more: nothing is read
 * for the approval alone. A key that is in again has no new admission: its first heartbeat is looked up at once, or it waits so long.
 */
const nextWordWithinMs = 2000;
/** Reads under way; more wait their turn. */
const readsAtOnce = 64;

export interface RecordWatch {
  /** Everything up to that event is known: what is newer and not heard is looked for. */
  isKnownUpTo(sequence: number): void;
  /** Finds in the stream what was stored and never told. */
  lookAgain(): void;
  /** What is heard is read from now on; before that it only waits. */
  open(): void;
  /** What is heard waits again. */
  close(): void;
  stop(): Promise<void>;
}

interface Hint {
  readonly clusterId: string;
  readonly type: string;
  readonly sequence: number;
  readonly attempt: number;
  /** Decodes what was heard; absent for what was found by looking. */
  readonly event?: () => StoredEvent | undefined;
}

/**
 * What an approval and the admission that follows it say together: all that makes a new member. A rotation goes on with what was
 * written of the former key, which neither of them has.
 * @returns undefined where the record has to be read
 */
function newMember(approval: Hint, admission: Hint): MemberSections | undefined {
  const [decided, letIn] = [approval.event?.(), admission.event?.()];
  if (!decided || !letIn || decided.epoch !== letIn.epoch || decided.sequence > letIn.sequence)
    return undefined;
  const [decision, identity] = [decided.section as Decision, letIn.section as Identity];
  const isNew = identity.admittedKey === decision.approvedKey && identity.rotatedFrom === undefined;
  return isNew ? { identity, decision, liveness: undefined } : undefined;
}

/**
 * Reads a cluster's record again when an event about it was stored: an event has one section of it. Not for one that a record
 * which was read meanwhile has already, and not for a new member, whom approval and admission tell of as they are heard. What
 * comes of a hearing that missed something is no more than a look: whatever is written is decided on a record that is read then.
 * @param options.isNews - false for an event that says what is known already (our own transitions)
 * @param options.isKnown - whether the cluster is a member as far as we know
 * @param options.changed - is given each record that was read, and what was heard of a new member
 */
export function watchRecords(
  nc: NatsConnection,
  options: {
    log: Pick<EventLog, 'read' | 'heard' | 'scan'>;
    logger: Logger;
    isNews(clusterId: string, type: string): boolean;
    isKnown(clusterId: string): boolean;
    changed(clusterId: string, record: MemberSections): void;
  },
): RecordWatch {
  /** By cluster, what was heard of it since its last reading. */
  const waiting = new Map<string, Hint[]>();
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
  /** Whether all that there is to know of a new member was heard. */
  function isHeardWhole(hint: Hint): boolean {
    const { clusterId } = hint;
    const approval = patient.get(clusterId)?.hint;
    if (hint.type !== admitted.type || !approval || !isOpen || options.isKnown(clusterId)) return false;
    if (waiting.has(clusterId) || reading.has(clusterId)) return false;
    const sections = newMember(approval, hint);
    if (!sections) return false;
    forgetPatient(clusterId);
    options.changed(clusterId, sections);
    return true;
  }
  function heard(hint: Hint): void {
    if (isHeardWhole(hint)) return;
    if (hint.type !== approved.type || options.isKnown(hint.clusterId)) return enqueue(hint);
    forgetPatient(hint.clusterId);
    const timer = setTimeout(() => {
      forgetPatient(hint.clusterId);
      enqueue(hint);
    }, nextWordWithinMs);
    timers.add(timer);
    patient.set(hint.clusterId, { hint, timer });
  }
  function enqueue(hint: Hint): void {
    const others = waiting.get(hint.clusterId);
    if (others) others.push(hint);
    else waiting.set(hint.clusterId, [hint]);
    pump();
  }
  function later(hint: Hint): void {
    const delayMs = readAgainAfterMs[hint.attempt] ?? readAgainAfterMs.at(-1);
    const timer = setTimeout(() => {
      timers.delete(timer);
      enqueue({ ...hint, attempt: hint.attempt + 1 });
    }, delayMs);
    timers.add(timer);
  }
  async function read(clusterId: string, hints: readonly Hint[]): Promise<void> {
    try {
      const record = clusterRecord(await options.log.read({ kind: 'cluster', id: clusterId }));
      options.changed(clusterId, record);
      const isNewer = ({ sequence }: Hint) => sequence > (record.head?.sequence ?? 0);
      const patientOne = patient.get(clusterId);
      if (patientOne && !isNewer(patientOne.hint)) forgetPatient(clusterId);
      const newer = waiting.get(clusterId)?.filter(isNewer) ?? [];
      if (newer.length > 0) waiting.set(clusterId, newer);
      else waiting.delete(clusterId);
    } catch (error) {
      options.logger.warn({ err: error as Error, clusterId }, 'record could not be read');
      for (const one of hints) later(one);
    }
  }
  function pump(): void {
    if (!isOpen) return;
    for (const [clusterId, hints] of waiting) {
      if (running.size >= readsAtOnce) return;
      if (reading.has(clusterId)) continue;
      waiting.delete(clusterId);
      // What could not be read is news still, whatever became of the cluster meanwhile.
      if (!hints.some(({ type, attempt }) => attempt > 0 || options.isNews(clusterId, type))) continue;
      const work = read(clusterId, hints).finally(() => {
        running.delete(work);
        reading.delete(clusterId);
        pump();
      });
      running.add(work);
      reading.add(clusterId);
    }
  }

  let next: number | undefined;
  /** Of those from `next` on. */
  const heardSequences = new Set<number>();
  let looking: Promise<void> | undefined;
  /** A server that dies tells no more of what it stored. While nothing happens, this is one question without an answer. */
  async function look(from: number): Promise<void> {
    let last = from;
    const isWanted = ({ sequence, type }: { sequence: number; type: string }) => {
      last = sequence + 1;
      return isWatched.has(type) && !heardSequences.has(sequence);
    };
    const events = options.log.scan({ filter: 'cluster.>', fromSequence: from, isWanted });
    for await (const { id, type, sequence } of events) heard({ clusterId: id, type, sequence, attempt: 0 });
    // Everything may have been read again meanwhile.
    next = Math.max(next ?? 0, last);
    for (const sequence of heardSequences) if (sequence < next) heardSequences.delete(sequence);
  }
  const subscriptions = watchedTypes.map((type) =>
    nc.subscribe(`rollcall.stored.cluster.*.${type}`, {
      callback: (error, message) => {
        const event = error ? undefined : options.log.heard(message);
        if (!event) return;
        heardSequences.add(event.sequence);
        const { id: clusterId, sequence } = event;
        heard({ clusterId, type, sequence, attempt: 0, event: () => event.decode() });
      },
    }),
  );
  return {
    isKnownUpTo(sequence) {
      next = sequence + 1;
    },
    lookAgain() {
      if (next === undefined || !isOpen) return;
      looking ??= look(next)
        .catch((error: unknown) =>
          options.logger.warn({ err: error as Error }, 'what was not heard could not be read'),
        )
        .finally(() => (looking = undefined));
    },
    open() {
      isOpen = true;
      pump();
    },
    close() {
      isOpen = false;
    },
    async stop() {
      isOpen = false;
      await looking;
      for (const subscription of subscriptions) subscription.unsubscribe();
      for (const timer of timers) clearTimeout(timer);
      await Promise.allSettled(running);
    },
  };
}
