import type { RollcallError } from '@rollcall/shared/errors';
import type { StoredEvent } from '@rollcall/shared/events';
import type { EventLog, SkippedEvent } from '../event-log.ts';
import { inTurn } from '../one-at-a-time.ts';

interface Turn {
  readonly take: () => Promise<unknown>;
  takers: number;
}

/**
 * The same log, in which those who want to read the same at the same time share one read; never one that began before they
 * asked. When many clusters come at once, their token and the policies are else read anew for each of them.
 */
export function shareReads(log: EventLog): EventLog {
  const turns = new Map<string, Turn>();

  async function shared<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    const turn = turns.get(what) ?? { take: inTurn(work), takers: 0 };
    turns.set(what, turn);
    turn.takers++;
    try {
      return (await turn.take()) as Result;
    } finally {
      turn.takers--;
      if (turn.takers === 0) turns.delete(what);
    }
  }

  return {
    ...log,
    read: (aggregate, options) =>
      shared(`${aggregate.kind}.${aggregate.id} ${options?.unknownAsGarbage ?? false}`, () =>
        log.read(aggregate, options),
      ),
    async readAll(filter, { onSkip } = {}) {
      const { events, skipped } = await shared(filter, () => readAllOf(log, filter));
      for (const [error, event] of skipped) onSkip?.(error, event);
      return [...events];
    },
  };
}

async function readAllOf(log: EventLog, filter: string) {
  const skipped: [RollcallError, SkippedEvent][] = [];
  const events: StoredEvent[] = await log.readAll(filter, {
    onSkip: (error, event) => skipped.push([error, event]),
  });
  return { events, skipped };
}
