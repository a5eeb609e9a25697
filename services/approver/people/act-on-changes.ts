import type { EventLog, Trace } from '@rollcall/shared/bus';
import { createKeyedQueue, decideAndAppend } from '@rollcall/shared/decisions';
import { bulkHeld, createEventId, type EventDraft, nameRecord } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { inSpan } from '@rollcall/shared/tracing';
import type { AdmissionGate } from '../admission/while-admission-in-place.ts';
import { gatherBulk, type BulkParts } from '../bulk/gather-bulk-change.ts';
import { passOrHold, putsOut } from '../bulk/bulk-change.ts';
import { putOutLog } from '../bulk/append-with-count.ts';
import type { Heartbeat } from '../decision/decision-section.ts';
import { decideRevocation, followUpRevocation } from '../decision/events-after-decision.ts';
import type { ClusterObject } from './cluster-change.ts';
import { type PeoplesRecord, readForPeople } from './read-cluster.ts';
import { decidePredefined, isBeforeRequest, isMadeByPerson, isOnlyUnbanned } from './predefined-cluster.ts';
import { withoutWords } from './unattributed-words.ts';

export interface ActingParts {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly gate: AdmissionGate;
  readonly heartbeat: Heartbeat;
  /** Who is put out in a bulk change waits for a confirmation. */
  readonly bulk: Pick<BulkParts, 'fleet' | 'limit'>;
  nowMs(): number;
}

/** A ManagedCluster, and what of it does not count, of one moment: the list gets shorter once a later version is seen. */
interface Read {
  readonly object: ClusterObject;
  readonly unprovenWords: ReadonlySet<string>;
}

/** What follows from a change. */
type Decide = (record: PeoplesRecord) => EventDraft[];

/** Of a record that is blind, only what puts a member out. */
const seeing =
  (decide: Decide): Decide =>
  (record) =>
    decide(record).filter((event) => !record.isBlind || putsOut(record, event));

/** What came of a look: nothing is left, there may be more, or it waits for the admission policies. */
export type Acted = 'done' | 'more' | 'waits';

export interface Acting {
  readCluster(id: string): Promise<PeoplesRecord>;
  /** @param decide - of what was read before the call and of the record alone: nothing that a person wrote since was checked */
  act(clusterId: string, decide: Decide): Promise<Acted>;
  /**
   * What a person laid down about a cluster before its agent came.
   * @returns undefined: the agent has asked already, or may not, so that the object is one like any other
   */
  predefine(clusterId: string, read: Read): Promise<Acted | undefined>;
}

/** Writes what follows from what people changed, once the admission policies are seen to hold. */
export function actOnChanges(parts: ActingParts): Acting {
  const { log, logger, gate, heartbeat } = parts;
  const queue = createKeyedQueue();

  const readCluster = (id: string) => readForPeople(log, id);

  async function act(clusterId: string, byObject: Decide): Promise<Acted> {
    const decide = seeing(byObject);
    const record = await readCluster(clusterId);
    const { identity, newest } = record;
    const wanted = decide(record);
    const isChange = wanted.length > 0;
    // Most looks find nothing to do: each status that the projector writes wakes one.
    if (!isChange && decideRevocation(record).length === 0) return 'done';
    if (isChange && !(await admissionHolds(clusterId))) return 'waits';
    const correlation = identity?.request.id ?? createEventId(parts.nowMs());
    const step = {
      name: 'approver person',
      kind: 'internal',
      traceparent: newest?.traceparent,
      attributes: {
        'rollcall.service': 'approver',
        'rollcall.event.id': clusterId,
        'rollcall.correlation': correlation,
      },
    } as const;
    return inSpan(step, async (traceparent) => {
      const trace = { correlation, traceparent };
      const isCounted = wanted.some((event) => putsOut(record, event));
      // A change that a newer record lets through was not asked for above; the next look asks.
      const isWritten = isChange && (await write(clusterId, { decide, trace, isCounted }));
      await followUpRevocation(log, clusterId, trace);
      return isWritten || !isChange ? 'more' : 'done';
    });
  }

  /** @returns whether a change was written: somebody else may have been faster */
  async function write(
    clusterId: string,
    { decide, trace, isCounted }: { decide: Decide; trace: Trace; isCounted: boolean },
  ): Promise<boolean> {
    const look = async () => {
      const record = await readCluster(clusterId);
      return { record, drafts: decide(record) };
    };
    const append = () =>
      decideAndAppend(
        putOutLog(log),
        {
          gather: () => gatherBulk({ log, ...parts.bulk, nowMs: parts.nowMs }, look),
          decide: (gathered) => (gathered.bulk ? passOrHold(gathered.bulk) : gathered.drafts),
        },
        trace,
      );
    // All that put members out are counted in one place: at the same time they would only conflict with each other.
    const { drafts } = await (isCounted ? queue('counted', append) : append());
    for (const { definition, by, reason, message } of drafts) {
      if (definition === bulkHeld) logger.warn({ clusterId, code: 'BULK_HELD' }, message);
      else if (definition.kind === 'cluster')
        logger.info(
          { clusterId, reason, person: by?.person ?? 'unknown', correlation: trace.correlation },
          'a person decided',
        );
    }
    return drafts.length > 0;
  }

  /**
   * What a person laid down about a cluster before its agent came.
   * @returns undefined: the agent has asked already, or may not, so that the object is one like any other
   */
  async function predefine(clusterId: string, { object, unprovenWords }: Read): Promise<Acted | undefined> {
    const gather = async () => {
      // Both are waited for together: what fails alone, while the other one is awaited, would end the process.
      const [record, name] = await Promise.all([
        readCluster(clusterId),
        log.read({ kind: 'name', id: object.metadata.name }),
      ]);
      const counts = withoutWords(object, unprovenWords, record.decision);
      return { record, name: nameRecord(name), object: counts, heartbeat, nowMs: parts.nowMs() };
    };
    const context = await gather();
    const isBanned = context.record.decision?.verdict === 'banned';
    const isFirst = isMadeByPerson(object) || isOnlyUnbanned(context.record);
    if (isBanned || !isFirst || !isBeforeRequest(context.record)) return undefined;
    if (decidePredefined(context).length > 0 && !(await admissionHolds(clusterId))) return 'waits';
    const trace = { correlation: createEventId(parts.nowMs()) };
    const { drafts } = await decideAndAppend(log, { gather, decide: decidePredefined }, trace);
    for (const { definition, reason, message } of drafts) {
      logger.info({ clusterId, state: definition.type, reason }, message);
    }
    return 'done';
  }

  async function admissionHolds(clusterId: string): Promise<boolean> {
    const why = await gate.whyHeld();
    if (why !== undefined)
      logger.warn(
        { clusterId, code: 'ADMISSION_MISSING', reason: why },
        'what a person wrote waits for the admission policies',
      );
    return why === undefined;
  }

  return { readCluster, act, predefine };
}
