import {
  areCountsAlike,
  type CountComparison,
  decidingFilters,
  type FleetCounts,
  FleetTally,
  knownOtherKey,
  mergedScan,
  policyInput,
  type PolicyInput,
} from '@rollcall/approver/policy';
import type { EventLog } from '@rollcall/shared/bus';
import type { RollcallError } from '@rollcall/shared/errors';
import {
  type Decision,
  type Identity,
  type StoredEvent,
  type TokenDeclaration,
} from '@rollcall/shared/events';

/** A request as it stood when it was first decided, or as it stands at the end of the history. */
export interface PastRequest {
  readonly identity: Identity;
  /** What had been decided about the cluster before. */
  readonly previous: Decision | undefined;
  /** What was decided; undefined: nothing yet. */
  readonly decision: StoredEvent | undefined;
  /** Hub time of that decision, else of the request. */
  readonly atMs: number;
  readonly input: PolicyInput;
}

const firstDecisions = new Set(['approved', 'held', 'denied']);

/** Judged together, as far as one answer changes nothing for the next: few enough to be far within the deadline on a busy machine, too. */
const togetherAtMost = 64;
/** Of a history in which hardly anybody asks. */
const stepsAtOnce = 4096;

const noneIn = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));

/** What counts in the fleet, or a request that is asked about before its decision counts. */
interface Step {
  readonly event: StoredEvent | undefined;
  readonly past: PastRequest | undefined;
}

/**
 * Reads the history in order and has each request judged as it stood at the moment of its first decision. Many are judged together,
 * by the counts of the first of them; once the counts of another are no longer like those, it and what follows is judged again.
 */
export async function replayRequests<Judged>(options: {
  log: Pick<EventLog, 'scan'>;
  fromMs: number;
  onSkip(error: RollcallError): void;
  /** What policies compare the counts of the fleet with: empty where none reads them, undefined where one reads them otherwise. */
  comparedCounts: readonly CountComparison[] | undefined;
  /** Of the policies that are asked: they count from the beginning, although they may not have been there then. */
  policyNames: readonly string[];
  /** Of the sets that are there now: a policy may ask how many are in one that was not there then. */
  setNames: readonly string[];
  /** @returns one for each, in their order */
  judge(past: readonly PastRequest[]): Promise<readonly Judged[]>;
  /**
   * Is given each request with its judgement, in order.
   * @returns what is decided instead, if anything; that counts in the fleet from then on
   */
  take(past: PastRequest, judged: Judged): Decision | undefined;
}): Promise<void> {
  const { log, fromMs, onSkip, comparedCounts, judge, take } = options;
  const readsFleet = comparedCounts === undefined || comparedCounts.length > 0;
  const tally = new FleetTally();
  const tokens = new Map<string, TokenDeclaration>();
  const decisions = new Map<string, Decision>();
  const open = new Map<string, Identity>();
  /** Requests that were decided otherwise: what policies decided later on is not what would have been. */
  const replaced = new Set<string>();
  const [noPolicy, noSet] = [noneIn(options.policyNames), noneIn(options.setNames)];
  function fleetAt(atMs: number): FleetCounts {
    const counts = tally.counts(atMs);
    return {
      ...counts,
      bySet: { ...noSet, ...counts.bySet },
      byPolicyToday: { ...noPolicy, ...counts.byPolicyToday },
    };
  }
  const count = (event: StoredEvent | undefined) => readsFleet && event && tally.add(event);
  const togetherMost = comparedCounts ? togetherAtMost : 1;
  let together = togetherMost;

  function countDecided(event: StoredEvent | undefined, instead: Decision | undefined): void {
    const section = event?.section as Decision | undefined;
    if (event && instead && section?.requestId !== undefined) {
      replaced.add(section.requestId);
      count(asDecided(event, section, instead));
    } else if (event?.by?.policy === undefined || !replaced.has(section?.requestId ?? '')) count(event);
  }

  async function walk(steps: readonly Step[]): Promise<void> {
    const asked = steps.flatMap(({ past }) => past ?? []);
    let judged: readonly Judged[] = [];
    let [from, at] = [0, 0];
    let by: FleetCounts | undefined;
    for (const { event, past } of steps) {
      if (!past) {
        countDecided(event, undefined);
        continue;
      }
      const fleet = readsFleet ? fleetAt(past.atMs) : undefined;
      const isAlike = !by || !fleet || areCountsAlike(comparedCounts ?? [], by, fleet);
      if (at === from + judged.length || !isAlike) {
        // Where that happens again and again, less is judged in vain.
        if (!isAlike && at < from + judged.length) together = Math.max(1, judged.length >> 1);
        [from, by] = [at, fleet];
        judged = await judge(asked.slice(at, at + together).map((one) => withFleet(one, fleet)));
        together = Math.min(togetherMost, together * 2);
      }
      countDecided(event, take(past, judged[at - from] as Judged));
      at++;
    }
  }

  let steps: Step[] = [];
  let asks = 0;
  let walking = Promise.resolve();
  /** The next ones are read while these are judged. */
  async function flush(): Promise<void> {
    const some = steps;
    [steps, asks] = [[], 0];
    await walking;
    walking = walk(some);
    // It is waited for before the next ones, and at the end.
    walking.catch(() => undefined);
  }
  async function add(event: StoredEvent | undefined, past?: PastRequest): Promise<void> {
    steps.push({ event, past });
    if (past) asks++;
    if (asks >= togetherAtMost || steps.length >= stepsAtOnce) await flush();
  }
  function pastRequest(identity: Identity, decision: StoredEvent | undefined): PastRequest {
    const { request, clusterId } = identity;
    const previous = decisions.get(clusterId);
    const atMs = (decision?.section as Decision | undefined)?.decidedAtMs ?? request.requestedAtMs;
    const keyChanged = knownOtherKey(identity, previous) !== undefined;
    const context = { token: tokens.get(request.tokenId), keyChanged, nowMs: atMs };
    return { identity, previous, decision, atMs, input: policyInput(identity, context) };
  }
  async function takeDecision(event: StoredEvent): Promise<void> {
    const section = event.section as Decision;
    const identity = open.get(event.id);
    const isFirst = firstDecisions.has(event.type) && identity?.request.id === section.requestId;
    const past = isFirst && identity ? pastRequest(identity, event) : undefined;
    if (isFirst) open.delete(event.id);
    decisions.set(event.id, section);
    await add(event, past);
  }

  try {
    for await (const event of mergedScan(log, { filters: decidingFilters, onSkip }).next()) {
      if (event.kind === 'token') tokens.set(event.id, event.section as TokenDeclaration);
      const isDecision = event.kind === 'cluster' && event.definition.writer === 'approver';
      if (isDecision) await takeDecision(event);
      else if (readsFleet) await add(event);
      if (event.type === 'requested' && event.timeMs >= fromMs) {
        const identity = event.section as Identity;
        // One that was held says something else of itself since: its first decision has been asked about.
        const isDecided = decisions.get(event.id)?.requestId === identity.request.id;
        if (!isDecided) open.set(event.id, identity);
      }
    }
    for (const identity of open.values()) await add(undefined, pastRequest(identity, undefined));
    await flush();
  } finally {
    await walking;
  }
}

function withFleet(past: PastRequest, fleet: FleetCounts | undefined): PastRequest {
  return fleet ? { ...past, input: { ...past.input, fleet: { ...fleet } } } : past;
}

/** The event as it would have been, as far as counts follow from it. */
function asDecided(event: StoredEvent, section: Decision, instead: Decision): StoredEvent {
  const { approvedKey: _in, clusterSet: _set, ...rest } = section;
  return { ...event, type: instead.verdict, by: instead.by, section: { ...rest, ...instead } };
}
