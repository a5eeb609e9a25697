import { type EventLog, isBatchRefused } from '@rollcall/shared/bus';

/**
 * Where what puts a member out is written. It comes in one batch with its count; where the stream takes no batch, because somebody
 * who may write events keeps them all open, one after the other: the count first, so that what fails then is counted once too often
 * and never too seldom.
 */
export function putOutLog(log: Pick<EventLog, 'append'>): Pick<EventLog, 'append'> {
  return {
    async append(drafts, trace) {
      try {
        await log.append(drafts, trace);
      } catch (error) {
        if (!isBatchRefused(error)) throw error;
        for (const each of drafts) await log.append([each], trace);
      }
    },
  };
}
