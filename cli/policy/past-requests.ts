import {
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

/** Judged together where one answer changes nothing for the next: few enough to be far within the deadline on a busy machine, too. */
const togetherAtMost = 64;

const noneIn = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));

/**
 * Reads the history in order and gives each request to `judge` as it stood at the moment of its first decision, in order: one
 * at a time where policies count the fleet, else many.
 */
export async function replayRequests(options: {
  log: Pick<EventLog, 'scan'>;
  fromMs: number;
  onSkip(error: RollcallError): void;
  /** Whether policies read the counts of the fleet. */
  readsFleet: boolean;
  /** Of the policies that are asked: they count from the beginning, although they may not have been there then. */
  policyNames: readonly string[];
  /** Of the sets that are there now: a policy may ask how many are in one that was not there then. */
  setNames: readonly string[];
  /** @returns for each what is decided instead, if anything; that counts in the fleet from then on */
  judge(past: readonly PastRequest[]): Promise<readonly (Decision | undefined)[]>;
}): Promise<void> {
  const { log, fromMs, onSkip, judge } = options;
  const tally = new FleetTally();
  const tokens = new Map<string, TokenDeclaration>();
  const decisions = new Map<string, Decision>();
  const open = new Map<string, Identity>();
  /** Requests that were decided otherwise: what policies decided later on is not what would have been. */
  const replaced = new Set<string>();
  const together = options.readsFleet ? 1 : togetherAtMost;
  const waiting: PastRequest[] = [];
  const [noPolicy, noSet] = [noneIn(options.policyNames), noneIn(options.setNames)];
  function fleetAt(atMs: number): FleetCounts {
    const counts = tally.counts(atMs);
    return {
      ...counts,
      bySet: { ...noSet, ...counts.bySet },
      byPolicyToday: { ...noPolicy, ...counts.byPolicyToday },
    };
  }
  const count = (event: StoredEvent) => options.readsFleet && tally.add(event);

  /** @returns what counts instead; undefined where nothing is counted */
  async function ask(identity: Identity, decision: StoredEvent | undefined): Promise<Decision | undefined> {
    const { request, clusterId } = identity;
    const previous = decisions.get(clusterId);
    const section = decision?.section as Decision | undefined;
    const atMs = section?.decidedAtMs ?? request.requestedAtMs;
    const context = {
      token: tokens.get(request.tokenId),
      keyChanged: knownOtherKey(identity, previous) !== undefined,
      fleet: options.readsFleet ? fleetAt(atMs) : undefined,
      nowMs: atMs,
    };
    waiting.push({ identity, previous, decision, atMs, input: policyInput(identity, context) });
    return waiting.length < together ? undefined : (await judge(waiting.splice(0))).at(-1);
  }

  async function takeDecision(event: StoredEvent): Promise<void> {
    const section = event.section as Decision;
    const identity = open.get(event.id);
    const isFirst = firstDecisions.has(event.type) && identity?.request.id === section.requestId;
    const instead = isFirst && identity ? await ask(identity, event) : undefined;
    if (isFirst) open.delete(event.id);
    if (instead && section.requestId !== undefined) {
      replaced.add(section.requestId);
      count(asDecided(event, section, instead));
    } else if (event.by?.policy === undefined || !replaced.has(section.requestId ?? '')) count(event);
    decisions.set(event.id, section);
  }

  for await (const event of mergedScan(log, { filters: decidingFilters, onSkip }).next()) {
    if (event.kind === 'token') tokens.set(event.id, event.section as TokenDeclaration);
    const isDecision = event.kind === 'cluster' && event.definition.writer === 'approver';
    if (isDecision) await takeDecision(event);
    else count(event);
    if (event.type === 'requested' && event.timeMs >= fromMs) {
      const identity = event.section as Identity;
      // One that was held says something else of itself since: its first decision has been asked about.
      const isDecided = decisions.get(event.id)?.requestId === identity.request.id;
      if (!isDecided) open.set(event.id, identity);
    }
  }
  for (const identity of open.values()) await ask(identity, undefined);
  if (waiting.length > 0) await judge(waiting);
}

/** The event as it would have been, as far as counts follow from it. */
function asDecided(event: StoredEvent, section: Decision, instead: Decision): StoredEvent {
  const { approvedKey: _in, clusterSet: _set, ...rest } = section;
  return { ...event, type: instead.verdict, by: instead.by, section: { ...rest, ...instead } };
}
