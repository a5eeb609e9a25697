import type { Facts } from '@rollcall/shared/bus';

/** Tells the hub what changed about the member, and nothing when nothing did (decision 4). */
export interface FactsReport {
  /** Facts that went another way, with a join. */
  sent(facts: Facts): void;
  /** The hub has what was sent last. */
  confirmed(): void;
  /** Reads the facts now and from then on at the interval; sends them where they differ from what the hub has. */
  start(): void;
  stop(): void;
}

export function createFactsReport(options: {
  intervalMs: number;
  read(): Promise<Facts>;
  /** @returns whether it could be sent; otherwise the next round sends it */
  send(facts: Facts): boolean;
}): FactsReport {
  const { intervalMs, read, send } = options;
  let hubHas = '';
  let underWay = '';
  let timer: NodeJS.Timeout | undefined;

  async function report(): Promise<void> {
    const facts = await read();
    const text = JSON.stringify(facts);
    if (text !== hubHas && send(facts)) underWay = text;
  }

  return {
    sent: (facts) => {
      underWay = JSON.stringify(facts);
    },
    confirmed: () => {
      hubHas = underWay;
    },
    start() {
      if (timer !== undefined) return;
      // Reading facts answers what it cannot read by leaving it out: it does not reject.
      timer = setInterval(() => void report(), intervalMs);
      void report();
    },
    stop() {
      clearInterval(timer);
    },
  };
}
