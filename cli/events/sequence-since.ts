import type { EventLog } from '@rollcall/shared/bus';
import { clocksDifferMs } from '@rollcall/shared/events';

/** How many events are looked back first; finding out what is there reads half as many. */
const lookBack = 1000;

/**
 * Where to read from to see everything since a time: twice as far back for as long as all that is found there is younger. A fleet
 * that is coming in writes thousands of events a minute.
 * @param firstMsFrom - when the first event from a sequence on was; undefined where there is none that can be read
 */
export async function sequenceSince(
  sinceMs: number,
  lastSequence: number,
  firstMsFrom: (sequence: number) => Promise<number | undefined>,
): Promise<number> {
  for (let back = lookBack; ; back *= 2) {
    const from = Math.max(1, lastSequence - back);
    if (from === 1 || ((await firstMsFrom(from)) ?? Infinity) < sinceMs - clocksDifferMs) return from;
  }
}

/** The same, looked up in the history: in a long one the beginning is gigabytes away. */
export function sequenceInLog(
  log: Pick<EventLog, 'scan'>,
  { sinceMs, lastSequence }: { sinceMs: number; lastSequence: number },
): Promise<number> {
  return sequenceSince(sinceMs, lastSequence, async (fromSequence) => {
    for await (const { timeMs } of log.scan({ fromSequence, onSkip: () => undefined })) return timeMs;
    return undefined;
  });
}
