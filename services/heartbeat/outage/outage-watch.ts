import { OutageGuard, type OutageSettings } from './outage-detector.ts';

/** What clusters can have in common: the NATS server that their agents were last connected to, a leaf server too, and their set. */
export interface OutageGroup {
  readonly kind: 'server' | 'set';
  readonly name: string;
}

export interface OutageChange {
  readonly change: 'begins' | 'ends';
  readonly silent: number;
  readonly known: number;
  /** Absent: of the whole fleet. */
  readonly group?: OutageGroup;
  /** It ended because time was over, not because heartbeats were back. */
  readonly isDeadline: boolean;
}

export interface OutageWatchSettings extends OutageSettings {
  /** The share of the clusters of one group, 0 to 1. */
  readonly groupShare: number;
}

interface Watched {
  readonly group: OutageGroup;
  readonly guard: OutageGuard;
  /** How many of it should be heard. */
  known: number;
  /** Silence in it counts from then on, at the earliest: its clusters come back one after the other. */
  listeningSinceMs: number;
}

/** No group: of a cluster that has no set, or was never seen connected. */
const noGroup = 0;
/** What a column of 16 bits holds; who comes later is in no group. */
const mostGroups = 65_535;

/** One guard for the fleet and one for each group, which may fall silent alone. Groups are numbers, so that each cluster has two columns of them. */
export class OutageWatch {
  readonly #groupSettings: OutageSettings;
  readonly #fleet: OutageGuard;
  readonly #groups: Watched[] = [];
  readonly #numberOf = new Map<string, number>();
  #holding = 0;
  #isAnyBack = false;

  constructor(settings: OutageWatchSettings) {
    this.#groupSettings = { ...settings, share: settings.groupShare };
    this.#fleet = new OutageGuard(settings);
  }

  get holding(): boolean {
    return this.#fleet.holding || this.#holding > 0;
  }

  numberOf(group: OutageGroup | undefined): number {
    if (group === undefined) return noGroup;
    const key = `${group.kind} ${group.name}`;
    const known = this.#numberOf.get(key);
    if (known !== undefined) return known;
    if (this.#groups.length === mostGroups) return noGroup;
    this.#groups.push({
      group,
      guard: new OutageGuard(this.#groupSettings),
      known: 0,
      listeningSinceMs: -Infinity,
    });
    this.#numberOf.set(key, this.#groups.length);
    return this.#groups.length;
  }

  /** Of the group with that number; undefined: it is no group. */
  nameOf(number: number): string | undefined {
    return this.#groups[number - 1]?.group.name;
  }

  /** Whether nobody of these groups is called dead now. */
  holds(server: number, set: number): boolean {
    if (this.#fleet.holding) return true;
    if (this.#holding === 0) return false;
    return this.#holdsGroup(server) || this.#holdsGroup(set);
  }

  #holdsGroup(number: number): boolean {
    return this.#groups[number - 1]?.guard.holding ?? false;
  }

  /** @param by - 1 for a cluster that should be heard from now on, -1 for one that need not be any more */
  countKnown(number: number, by: 1 | -1): void {
    const watched = this.#groups[number - 1];
    if (watched) watched.known += by;
  }

  fellSilent(nowMs: number, server: number, set: number): void {
    this.#fleet.fellSilent(nowMs);
    this.#groups[server - 1]?.guard.fellSilent(nowMs);
    this.#groups[set - 1]?.guard.fellSilent(nowMs);
  }

  heardAgain(times: { sinceMs: number; nowMs: number }, server: number, set: number): void {
    const { sinceMs, nowMs } = times;
    this.#fleet.heardAgain(sinceMs, nowMs);
    this.#groups[server - 1]?.guard.heardAgain(sinceMs, nowMs);
    this.#groups[set - 1]?.guard.heardAgain(sinceMs, nowMs);
  }

  /** An outage that was declared before we came. */
  hold(nowMs: number, group?: OutageGroup): void {
    const guard = group ? this.#groups[this.numberOf(group) - 1]?.guard : this.#fleet;
    guard?.hold(nowMs, true);
    if (group && guard) this.#holding++;
  }

  /** The outage of that group is over: those of it that are not back yet have their turn until then. */
  awaitReturn(group: OutageGroup, untilMs: number): void {
    const watched = this.#groups[this.numberOf(group) - 1];
    if (!watched) return;
    watched.listeningSinceMs = untilMs;
    this.#isAnyBack = true;
  }

  /** Since when silence counts in both of these groups. Asked for each heartbeat that is late. */
  listeningSinceMs(server: number, set: number): number {
    if (!this.#isAnyBack) return -Infinity;
    const since = (number: number) => this.#groups[number - 1]?.listeningSinceMs ?? -Infinity;
    return Math.max(since(server), since(set));
  }

  /** What begins or ends now. @param known - of the whole fleet */
  judge(nowMs: number, known: number): OutageChange[] {
    const changes: OutageChange[] = [];
    const ofFleet = this.#judge(this.#fleet, nowMs, { known });
    if (ofFleet) changes.push(ofFleet);
    for (const { group, guard, known: ofGroup } of this.#groups) {
      const change = this.#judge(guard, nowMs, { known: ofGroup, group });
      if (!change) continue;
      this.#holding += change.change === 'begins' ? 1 : -1;
      // An outage of the fleet is one of each of its groups; one event says so.
      if (!this.#fleet.holding || change.change === 'ends') changes.push(change);
    }
    return changes;
  }

  #judge(
    guard: OutageGuard,
    nowMs: number,
    of: { known: number; group?: OutageGroup },
  ): OutageChange | undefined {
    const { heldUntilMs } = guard;
    const change = guard.judge(nowMs, of.known);
    return (
      change && { ...of, change, silent: guard.silent, isDeadline: change === 'ends' && nowMs >= heldUntilMs }
    );
  }
}
