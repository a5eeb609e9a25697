import type {
  Decision,
  Identity,
  PolicyDeclaration,
  SetDeclaration,
  StoredEvent,
} from '@rollcall/shared/events';

/** What policies see as `fleet`. Days are UTC. */
export interface FleetCounts {
  /** Clusters that are let in now. */
  readonly clusters: number;
  /** Requests that nobody has decided: not judged yet, or held. */
  readonly pending: number;
  /** Clusters that were let in today, by a policy or a person. Each counts once. */
  readonly approvedToday: number;
  /** Clusters that are let in now, by set. */
  readonly bySet: Readonly<Record<string, number>>;
  /** Clusters that a policy let in today, by policy. */
  readonly byPolicyToday: Readonly<Record<string, number>>;
}

/** The day of a point in time, in UTC: `2026-11-21`. */
export function utcDate(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

type Counted = Pick<StoredEvent, 'kind' | 'id' | 'type' | 'sequence' | 'section' | 'by'> & {
  readonly definition: Pick<StoredEvent['definition'], 'writer'>;
};

/** What the tally remembers of a cluster: the little that its counts follow from. */
interface Entry {
  identitySequence: number;
  decisionSequence: number;
  asks: { requestId: string; isOpen: boolean } | undefined;
  decided:
    | { requestId: string | undefined; isHeld: boolean; isIn: boolean; set: string | undefined }
    | undefined;
  countedRequestId: string | undefined;
}

/** Whom a day let in. */
interface Day {
  readonly clusters: Set<string>;
  readonly byPolicy: Map<string, Set<string>>;
}

/** Clocks of replicas differ, and one may have been days ahead for a while: its days must not take the place of the real one. */
const keptDays = 7;

/**
 * Counts of the fleet, kept by adding events one after another: a few bytes a cluster, and no work when they are asked for.
 * Events of one owner and aggregate come in order; identities and decisions may overtake each other.
 */
export class FleetTally {
  readonly #entries = new Map<string, Entry>();
  readonly #sets = new Map<string, number>();
  readonly #declaredSets = new Set<string>();
  readonly #policies = new Set<string>();
  readonly #pending = new Set<string>();
  #clusters = 0;
  /** By date, those that somebody was let in on last. */
  readonly #days = new Map<string, Day>();

  /** An event that the counts do not follow from changes nothing. */
  add(event: Counted): void {
    const { kind, id, type, section } = event;
    if (kind === 'set') keep(this.#declaredSets, (section as SetDeclaration).name, type === 'declared');
    else if (kind === 'policy')
      keep(this.#policies, (section as PolicyDeclaration).name, type === 'declared');
    else if (kind === 'cluster') {
      // No policy lets fewer real clusters in because somebody simulates.
      if ((section as Identity | Decision).simulated !== undefined) return;
      if (event.definition.writer === 'registrar') this.#identified(id, event, section as Identity);
      else if (event.definition.writer === 'approver') this.#decided(id, event, section as Decision);
    }
  }

  /** The counts at a point in time that is not before the newest event. */
  counts(nowMs: number): FleetCounts {
    const today = this.#days.get(utcDate(nowMs));
    // A map that has what is declared lets an expression read it without `has()`, and a misspelt name hold.
    const bySet = [...this.#declaredSets].map((name): [string, number] => [name, 0]);
    const byPolicyToday = [...this.#policies].map((name): [string, number] => [name, 0]);
    return {
      clusters: this.#clusters,
      pending: this.#pending.size,
      approvedToday: today?.clusters.size ?? 0,
      bySet: Object.fromEntries([...bySet, ...this.#sets]),
      byPolicyToday: Object.fromEntries([
        ...byPolicyToday,
        ...Array.from(today?.byPolicy ?? [], ([name, ids]): [string, number] => [name, ids.size]),
      ]),
    };
  }

  /** Ids of the clusters that wait for a decision. */
  pending(): readonly string[] {
    return [...this.#pending];
  }

  #entry(id: string): Entry {
    const known = this.#entries.get(id);
    if (known) return known;
    const entry: Entry = {
      identitySequence: 0,
      decisionSequence: 0,
      asks: undefined,
      decided: undefined,
      countedRequestId: undefined,
    };
    this.#entries.set(id, entry);
    return entry;
  }

  #identified(id: string, { sequence }: Counted, { state, request }: Identity): void {
    const entry = this.#entry(id);
    if (sequence <= entry.identitySequence) return;
    entry.identitySequence = sequence;
    entry.asks = { requestId: request.id, isOpen: state !== 'left' && state !== 'refused' };
    this.#updatePending(id, entry);
  }

  #decided(id: string, { sequence, type, by }: Counted, decision: Decision): void {
    const entry = this.#entry(id);
    if (sequence <= entry.decisionSequence) return;
    entry.decisionSequence = sequence;
    const before = entry.decided;
    const { requestId, verdict, approvedKey, clusterSet: set } = decision;
    const isIn = approvedKey !== undefined;
    this.#count(before?.isIn ?? false, before?.set, -1);
    this.#count(isIn, set, 1);
    entry.decided = { requestId, isHeld: verdict === 'held', isIn, set };
    this.#updatePending(id, entry);
    // Neither a member that registers again nor access that a person gives back is a new cluster.
    if (type === 'approved' && !before?.isIn && requestId !== entry.countedRequestId) {
      entry.countedRequestId = requestId;
      this.#letIn(id, decision.decidedAtMs, by?.policy);
    }
  }

  #count(isIn: boolean, set: string | undefined, change: 1 | -1): void {
    if (!isIn) return;
    this.#clusters += change;
    if (set === undefined) return;
    const count = (this.#sets.get(set) ?? 0) + change;
    if (count > 0) this.#sets.set(set, count);
    else this.#sets.delete(set);
  }

  #updatePending(id: string, { asks, decided }: Entry): void {
    const isDecided = decided !== undefined && decided.requestId === asks?.requestId && !decided.isHeld;
    keep(this.#pending, id, asks?.isOpen === true && !isDecided);
  }

  #letIn(id: string, atMs: number, policy: string | undefined): void {
    const { clusters, byPolicy } = this.#day(utcDate(atMs));
    clusters.add(id);
    if (policy !== undefined) byPolicy.set(policy, (byPolicy.get(policy) ?? new Set()).add(id));
  }

  #day(date: string): Day {
    const day: Day = this.#days.get(date) ?? { clusters: new Set(), byPolicy: new Map() };
    this.#days.delete(date);
    this.#days.set(date, day);
    for (const old of [...this.#days.keys()].slice(0, -keptDays)) this.#days.delete(old);
    return day;
  }
}

function keep(set: Set<string>, member: string, isMember: boolean): void {
  if (isMember) set.add(member);
  else set.delete(member);
}
