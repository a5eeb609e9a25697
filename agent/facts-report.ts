import type { Facts } from '@rollcall/shared/bus';

/** Tells the hub what changed about the member, and where nothing did, once an hour that nothing did (decision 4). */
export interface FactsReport {
  /** Facts that went another way, with a join. */
  sent(facts: Facts): void;
  /** The hub has what was sent last. */
  confirmed(): void;
  /**
   * Reads the facts after that time, and from then on at the interval; sends them where they differ from what the hub has. Called
   * again it does nothing: who comes back has beaten, and what changed meanwhile has time until the next round.
   */
  start(afterMs: number): void;
  stop(): void;
}

/** With the answer comes what the hub has to say to all of its fleet, so that all hear it within an hour. */
const longestSilenceMs = 3_600_000;

export function createFactsReport(options: {
  intervalMs: number;
  read(): Promise<Facts>;
  /** @returns whether it could be sent; otherwise the next round sends it */
  send(facts: Facts): boolean;
}): FactsReport {
  const { intervalMs, read, send } = options;
  let hubHas = '';
  let underWay = '';
  let confirmedAtMs = 0;
  let timer: NodeJS.Timeout | undefined;

  async function report(): Promise<void> {
    const facts = await read();
    const text = JSON.stringify(facts);
    const isNews = text !== hubHas || performance.now() - confirmedAtMs > longestSilenceMs;
    if (isNews && send(facts)) underWay = text;
  }

  function next(afterMs: number): void {
    timer = setTimeout(() => {
      next(intervalMs);
      // Reading facts answers what it cannot read by leaving it out: it does not reject.
      void report();
    }, afterMs);
  }

  return {
    sent: (facts) => {
      underWay = JSON.stringify(facts);
    },
    confirmed: () => {
      hubHas = underWay;
      confirmedAtMs = performance.now();
    },
    start(afterMs) {
      if (timer === undefined) next(afterMs);
    },
    stop() {
      clearTimeout(timer);
    },
  };
}
