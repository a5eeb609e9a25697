import type { Facts } from '@rollcall/shared/bus';

/** Tells the hub what changed about the member, and where nothing did, once an hour that nothing did (principle 4). */
export interface FactsReport {
  /** Facts that went another way, with a join. */
  sent(facts: Facts, requestId: string): void;
  /** The hub has taken that request; of one that did not bring the newest facts nothing follows. */
  confirmed(requestId: string): void;
  /**
   * Reads the facts after that time, and from then on at the interval; sends them where they differ from what the hub has. Called
   * again it only sees to what could not be sent before: who comes back has sent a heartbeat, and the rest has time until the next round.
   */
  start(afterMs: number): void;
  /** Something that is watched may be otherwise: it is told soon, together with what else changes until then. */
  changed(): void;
  /** Sends them although they are no news: with its answer the hub says what it wants of this member. */
  ask(): void;
  stop(): void;
}

/** With the answer comes what the hub has to say to all of its fleet, so that all hear it within an hour. */
const longestSilenceMs = 3_600_000;
/** What changes together, such as nodes that a cloud provider adds, is told together. */
const settleMs = 1000;
/** As seldom as the hub shows facts (projector), however busy the member is. */
const leastPauseMs = 10_000;

export function createFactsReport(options: {
  intervalMs: number;
  read(): Promise<Facts>;
  /** As known by what is watched, without asking anybody. */
  latest(): Facts;
  /** @returns the id of the request; undefined where it could not be sent: the next round sends it */
  send(facts: Facts): string | undefined;
}): FactsReport {
  const { intervalMs, read, latest, send } = options;
  let hubHas = '';
  let underWay: { readonly requestId: string; readonly text: string } | undefined;
  let confirmedAtMs = 0;
  let lastToldAtMs = Number.NEGATIVE_INFINITY;
  let isOwed = false;
  let round: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;

  function tell(facts: Facts): void {
    const text = JSON.stringify(facts);
    const isNews = text !== hubHas || performance.now() - confirmedAtMs > longestSilenceMs;
    if (isNews) sendAs(text, facts);
    else isOwed = false;
  }

  function sendAs(text: string, facts: Facts): void {
    const requestId = send(facts);
    isOwed = requestId === undefined;
    if (requestId === undefined) return;
    underWay = { requestId, text };
    lastToldAtMs = performance.now();
  }

  function next(afterMs: number): void {
    round = setTimeout(() => {
      next(intervalMs);
      // Reading facts answers what it cannot read by leaving it out: it does not reject.
      void read().then(tell);
    }, afterMs);
  }

  function changed(): void {
    // Before its first round there is nobody to tell.
    if (round === undefined || soon !== undefined) return;
    const waitMs = Math.max(settleMs, lastToldAtMs + leastPauseMs - performance.now());
    soon = setTimeout(() => {
      soon = undefined;
      tell(latest());
    }, waitMs);
  }

  return {
    sent: (facts, requestId) => {
      underWay = { requestId, text: JSON.stringify(facts) };
    },
    confirmed: (requestId) => {
      if (underWay?.requestId !== requestId) return;
      hubHas = underWay.text;
      confirmedAtMs = performance.now();
    },
    start(afterMs) {
      if (round === undefined) next(afterMs);
      else if (isOwed) changed();
    },
    changed,
    ask() {
      const facts = latest();
      sendAs(JSON.stringify(facts), facts);
    },
    stop() {
      clearTimeout(round);
      clearTimeout(soon);
    },
  };
}
