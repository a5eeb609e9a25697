import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler, decideAndAppend } from '@rollcall/shared/decisions';
import {
  type Admission,
  admissionAggregate,
  admissionChanged,
  admissionOf,
  type AggregateRecord,
  createEventId,
  draft,
  type EventDraft,
  type UnprovenWord,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import type { Words } from './unproven-words.ts';

const by = { service: 'approver' };
/** So many words fit into one event; more than these, and a person has to look before anything is acted on. */
export const mostUnproven = 500;

/** How many words, and the first of them, for people. */
function listed(words: readonly UnprovenWord[]): string {
  const first = words.slice(0, 5).map(({ object, word }) => `${object} (${word.split(':', 1)[0]})`);
  const more = words.length > first.length ? ` and ${words.length - first.length} more` : '';
  return `${first.join(', ')}${more}`;
}

/** What is said once the policies hold: under which version, and what was written while they may not have held. */
export function decideStanding(context: {
  record: AggregateRecord;
  version: string;
  kindUid: string;
  unproven: readonly UnprovenWord[];
}): EventDraft[] {
  const { record, version, kindUid, unproven } = context;
  const before = admissionOf(record);
  // Another replica was first, and has looked at the same objects.
  if (before?.standing && before.version === version) return [];
  const message =
    unproven.length === 0
      ? 'the admission policies hold'
      : `the admission policies hold; what was written while they may not have held does not count until it is written again: ${listed(unproven)}`;
  const section: Admission = { standing: true, version, kindUid, unproven: [...unproven] };
  const reason = unproven.length === 0 ? 'AdmissionHolds' : 'AuthorUnknown';
  return [draft(admissionChanged, record, { by, reason, message, section })];
}

/** What is said when the policies were seen not to hold. */
export function decideMissing(context: { record: AggregateRecord; problem: string }): EventDraft[] {
  const { record, problem } = context;
  const before = admissionOf(record);
  if (!before?.standing) return [];
  const message = `the admission policies do not hold, so that nothing people write is acted on: ${problem}`;
  const section: Admission = { ...before, standing: false };
  return [draft(admissionChanged, record, { by, reason: 'AdmissionMissing', message, section })];
}

/** What is left once words that did not count stand nowhere any more. */
export function decideRewritten(context: {
  record: AggregateRecord;
  object: string;
  gone: ReadonlySet<string>;
}): EventDraft[] {
  const { record, object, gone } = context;
  const before = admissionOf(record);
  if (!before) return [];
  const unproven = before.unproven.filter((each) => each.object !== object || !gone.has(each.word));
  if (unproven.length === before.unproven.length) return [];
  const message = `${object} was written again, or taken back`;
  const section: Admission = { ...before, unproven };
  return [draft(admissionChanged, record, { by, reason: 'WrittenAgain', message, section })];
}

/** What people wrote while the admission policies may not have held. */
export interface Unproven {
  /** Words of an object that do not count. */
  of(object: string): ReadonlySet<string>;
  count(): number;
  /** Takes an object off the list as far as it says other words now; to be told of each version of it that is seen. */
  seen(object: string, words: Words): void;
  drain(): Promise<void>;
}

const none: ReadonlySet<string> = new Set();

/** @param options.words - of the record */
export function openUnproven(options: {
  log: Pick<EventLog, 'read' | 'append'>;
  logger: Logger;
  words: readonly UnprovenWord[];
  nowMs(): number;
}): Unproven {
  const { log, logger, nowMs } = options;
  const byObject = new Map<string, Set<string>>();
  for (const { object, word } of options.words)
    byObject.set(object, (byObject.get(object) ?? new Set()).add(word));
  /** To be taken off the list in the record. */
  const gone = new Map<string, Set<string>>();

  const shortening = createReconciler({
    logger,
    async handle(object) {
      const words = gone.get(object) ?? none;
      const { drafts } = await decideAndAppend(
        log,
        {
          gather: async () => ({ record: await log.read(admissionAggregate), object, gone: words }),
          decide: decideRewritten,
        },
        { correlation: createEventId(nowMs()) },
      );
      for (const { message } of drafts) logger.info({ object }, message);
    },
  });
  return {
    of: (object) => byObject.get(object) ?? none,
    count: () => byObject.values().reduce((sum, words) => sum + words.size, 0),
    seen(object, words) {
      const mine = byObject.get(object);
      const missing = [...(mine ?? none)].filter((word) => !words.includes(word));
      if (!mine || missing.length === 0) return;
      gone.set(object, new Set([...(gone.get(object) ?? none), ...missing]));
      for (const word of missing) mine.delete(word);
      shortening.wake(object);
    },
    drain: () => shortening.drain(),
  };
}
