import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog, Trace } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { EventDraft } from '@rollcall/shared/events';

/** Enough for fifty racers on one aggregate; more means that something is wrong, and the message is delivered again later. */
const maxAttempts = 25;

/** One decision: everything is gathered before, everything is written after, and between them is a pure function. */
export interface Decision<Context> {
  gather(): Promise<Context>;
  /** No clock, no randomness, no I/O: they are in the context. */
  decide(context: Context): readonly EventDraft[];
}

/**
 * Gathers, decides and appends until nobody was faster: a conflict means that the context was old, so both are done again.
 * @returns the context of the decision that was written (or found nothing to write), and what it wrote
 * @throws RollcallError APPEND_CONFLICT after 25 lost races
 */
export async function decideAndAppend<Context>(
  log: Pick<EventLog, 'append'>,
  decision: Decision<Context>,
  trace: Trace,
): Promise<{ context: Context; drafts: readonly EventDraft[] }> {
  for (let attempt = 1; ; attempt++) {
    const context = await decision.gather();
    const drafts = decision.decide(context);
    if (drafts.length === 0) return { context, drafts };
    try {
      await log.append(drafts, trace);
      return { context, drafts };
    } catch (error) {
      if (!(error instanceof RollcallError) || error.code !== 'APPEND_CONFLICT' || attempt === maxAttempts)
        throw error;
      await delay(Math.random() * Math.min(2 ** attempt, 50));
    }
  }
}
