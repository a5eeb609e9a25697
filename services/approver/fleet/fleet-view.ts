import { type EventLog, notBehind, type SkippedEvent } from '@rollcall/shared/bus';
import { createKeyedQueue } from '@rollcall/shared/decisions';
import type { RollcallError } from '@rollcall/shared/errors';
import { type AggregateRecord, approved, type StoredEvent } from '@rollcall/shared/events';
import { type FleetCounts, FleetTally } from './fleet-tally.ts';
import { decidingFilters, mergedScan } from './scan-deciding-events.ts';

/** Every approval by policy appends to it while a policy reads `fleet`, so that two cannot be decided on the same counts. */
export const fleetAggregate = { kind: 'hub', id: 'fleet' } as const;

/** The counts of the fleet, and the head that an approval made from them must be appended at. */
export interface FleetNow {
  readonly counts: FleetCounts;
  readonly record: AggregateRecord;
}

/** The fleet as policies see it. Nothing is read before somebody asks; the first time reads the whole history of decisions. */
export interface FleetView {
  now(nowMs: number): Promise<FleetNow>;
  /** Ids of the clusters that wait for a decision. */
  pending(): Promise<readonly string[]>;
  /** Told at each judgement whether policies read the counts. */
  setCounting(isCounting: boolean): void;
  /**
   * While they do, one judgement after another: all at once would only conflict with each other.
   * @param work - calls `checkTurn` once it has told whether they do, and does not catch what that throws: it is called again, in
   *   its turn. Those that began together before anybody knew would else lose every race but one.
   */
  inTurn<Result>(work: (checkTurn: () => void) => Promise<Result>): Promise<Result>;
}

const outOfTurn = new Error('a policy reads the fleet, and this judgement is not in its turn');

export function createFleetView(
  log: Pick<EventLog, 'read' | 'scan'>,
  onSkip?: (error: RollcallError) => void,
): FleetView {
  const tally = new FleetTally();
  let approvedUpTo = 0;
  /** Of a history with a hole, such as that of a store that was damaged: what was counted there is no approval. */
  let notThere = 0;
  const scan = mergedScan(log, {
    filters: decidingFilters,
    onSkip(error, event) {
      noteApproval(event);
      onSkip?.(error);
    },
  });
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  let isCounting = false;
  const queue = createKeyedQueue();

  function noteApproval({ kind, type, sequence }: SkippedEvent | StoredEvent): void {
    if (kind === 'cluster' && type === approved.type) approvedUpTo = sequence;
  }

  async function addNew(): Promise<void> {
    for await (const event of scan.next()) {
      noteApproval(event);
      tally.add(event);
    }
  }

  /** Whether a server that has what comes after it shows something else in its place; one that shows nothing may be behind. */
  async function isHole(sequence: number): Promise<boolean> {
    let first: SkippedEvent | StoredEvent | undefined;
    const noteSkip = (_error: RollcallError, event: SkippedEvent) => void (first ??= event);
    for await (const event of log.scan({ fromSequence: sequence, onSkip: noteSkip })) {
      first ??= event;
      break;
    }
    const isIt = first?.sequence === sequence && first.kind === 'cluster' && first.type === approved.type;
    return first !== undefined && !isIt;
  }

  /** A replica of the stream that is behind may not have the approval yet that came in one batch with the newest count. */
  async function countUpTo({ lastOf }: AggregateRecord): Promise<void> {
    const least = (lastOf.approver?.sequence ?? 0) - 1;
    try {
      await notBehind(least, catchUp, () => approvedUpTo >= least || notThere >= least);
    } catch (error) {
      if (!(await isHole(least))) throw error;
      notThere = least;
    }
  }

  /** Up to the end of the stream as it is when this is called: a catch-up that has begun before may miss the newest. */
  function catchUp(): Promise<void> {
    waiting ??= running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined;
        running = addNew();
        return running;
      });
    return waiting;
  }

  return {
    async now(nowMs) {
      // First the head, then the counts: what comes between is counted, and whatever comes later moves the head.
      const record = await log.read(fleetAggregate);
      await countUpTo(record);
      return { counts: tally.counts(nowMs), record };
    },
    async pending() {
      await catchUp();
      return tally.pending();
    },
    setCounting(is) {
      isCounting = is;
    },
    async inTurn(work) {
      const next = () => queue('counting', () => work(() => undefined));
      if (isCounting) return next();
      try {
        return await work(() => {
          if (isCounting) throw outOfTurn;
        });
      } catch (error) {
        if (error !== outOfTurn) throw error;
        return next();
      }
    },
  };
}
