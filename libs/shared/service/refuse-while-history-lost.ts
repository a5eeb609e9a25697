import type { EventLog } from '@rollcall/shared/bus';
import type { HistoryWatch } from './watch-history.ts';

/**
 * The same log, which says nothing and takes nothing while the history is not the one that it was: whatever is decided or given
 * follows from what was read here, so nothing is.
 */
export function guardLog(log: EventLog, history: Pick<HistoryWatch, 'whole' | 'lost'>): EventLog {
  return {
    async read(aggregate, options) {
      await history.whole();
      return log.read(aggregate, options);
    },
    async readAll(filter, options) {
      await history.whole();
      return log.readAll(filter, options);
    },
    async *aggregates(kinds) {
      await history.whole();
      yield* log.aggregates(kinds);
    },
    async lastWords(query, take) {
      await history.whole();
      return log.lastWords(query, take);
    },
    async *scan(options) {
      await history.whole();
      yield* log.scan(options);
    },
    heard: (message) => (history.lost() === undefined ? log.heard(message) : undefined),
    async append(drafts, trace) {
      await history.whole();
      return log.append(drafts, trace);
    },
  };
}
