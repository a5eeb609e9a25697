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
import type { Words } from './object-words.ts';

const by = { service: 'approver' };
/** So many words fit into one event. */
export const mostUnproven = 500;

const none: ReadonlySet<string> = new Set();

/** How many words, and the first of them, for people. */
function listed(words: readonly UnprovenWord[]): string {
  const first = words.slice(0, 5).map(({ object, word }) => `${object} (${word.split(':', 1)[0]})`);
  const more = words.length > first.length ? ` and ${words.length - first.length} more` : '';
  return `${first.join(', ')}${more}`;
}

/** As many as fit, and how many do not. */
function asListed(words: readonly UnprovenWord[]): Pick<Admission, 'unproven' | 'unlisted'> {
  const unproven = words.slice(0, mostUnproven);
  const unlisted = words.length - unproven.length;
  return { unproven, ...(unlisted > 0 ? { unlisted } : {}) };
}

/**
 * What was written before these policies held and does not count; whatever is not on the list was written later.
 * @returns undefined where the record has no such list, or not all of it: then it proves nothing
 */
export function provenList(record: AggregateRecord, version: string): readonly UnprovenWord[] | undefined {
  const said = admissionOf(record);
  const isWhole = said?.inPlace && said.version === version && said.unlisted === undefined;
  return isWhole ? said.unproven : undefined;
}

/** What is said once the policies hold: under which version, and what was written while they may not have held. */
export function decideInPlace(context: {
  record: AggregateRecord;
  version: string;
  kindUid: string;
  unproven: readonly UnprovenWord[];
}): EventDraft[] {
  const { record, version, kindUid, unproven } = context;
  // Another replica was first, and has looked at the same objects.
  if (provenList(record, version)) return [];
  const message =
    unproven.length === 0
      ? 'the admission policies hold'
      : `the admission policies hold; what was written while they may not have held does not count until it is written again: ${listed(unproven)}`;
  const section: Admission = { inPlace: true, version, kindUid, ...asListed(unproven) };
  const reason = unproven.length === 0 ? 'AdmissionHolds' : 'AuthorUnknown';
  return [draft(admissionChanged, record, { by, reason, message, section })];
}

/** What is said when the policies were seen not to hold. */
export function decideMissing(context: { record: AggregateRecord; problem: string }): EventDraft[] {
  const { record, problem } = context;
  const before = admissionOf(record);
  if (!before?.inPlace) return [];
  const message = `the admission policies do not hold, so that nothing people write is acted on: ${problem}`;
  const section: Admission = { ...before, inPlace: false };
  return [draft(admissionChanged, record, { by, reason: 'AdmissionMissing', message, section })];
}

/**
 * What is left once words that did not count stand nowhere any more.
 * @param context.instead - words that stand there instead and do not count either
 */
export function decideRewritten(context: {
  record: AggregateRecord;
  object: string;
  gone: ReadonlySet<string>;
  instead?: ReadonlySet<string>;
}): EventDraft[] {
  const { record, object, gone, instead = none } = context;
  const before = admissionOf(record);
  if (!before) return [];
  const left = before.unproven.filter((each) => each.object !== object || !gone.has(each.word));
  const isListed = (word: string) => left.some((each) => each.object === object && each.word === word);
  const more = [...instead].filter((word) => !isListed(word)).map((word) => ({ object, word }));
  if (left.length === before.unproven.length && more.length === 0) return [];
  const section: Admission = { ...before, ...asListed([...left, ...more]) };
  const what =
    more.length === 0
      ? { reason: 'WrittenAgain', message: `${object} was written again, or taken back` }
      : {
          reason: 'AuthorUnknown',
          message: `${object} was changed from a version whose author nobody knows, to one that takes away what is in force: that does not count either`,
        };
  return [draft(admissionChanged, record, { by, ...what, section })];
}

/** What people wrote while the admission policies may not have held. */
export interface Unproven {
  /** Words of an object that do not count. */
  of(object: string): ReadonlySet<string>;
  count(): number;
  /** Takes an object off the list as far as it says other words now; to be told of each version of it that is seen. */
  seen(object: string, words: Words): void;
  /** Words of an object on the list were replaced by these, which do not count either. */
  replaced(object: string, words: Words): void;
  drain(): Promise<void>;
}

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
  /** To be put on it in their place. */
  const came = new Map<string, Set<string>>();

  const shortening = createReconciler({
    logger,
    async handle(object) {
      const isLeft = (word: string) => byObject.get(object)?.has(word) === true;
      const words = new Set([...(gone.get(object) ?? none)].filter((word) => !isLeft(word)));
      const instead = new Set([...(came.get(object) ?? none)].filter(isLeft));
      const { drafts } = await decideAndAppend(
        log,
        {
          gather: async () => ({ record: await log.read(admissionAggregate), object, gone: words, instead }),
          decide: decideRewritten,
        },
        { correlation: createEventId(nowMs()) },
      );
      for (const { message } of drafts) logger.info({ object }, message);
    },
  });
  function take(object: string, words: readonly string[]): void {
    gone.set(object, new Set([...(gone.get(object) ?? none), ...words]));
    for (const word of words) byObject.get(object)?.delete(word);
    shortening.wake(object);
  }

  return {
    of: (object) => byObject.get(object) ?? none,
    count: () => byObject.values().reduce((sum, words) => sum + words.size, 0),
    seen(object, words) {
      const mine = byObject.get(object);
      const missing = [...(mine ?? none)].filter((word) => !words.includes(word));
      if (!mine || missing.length === 0) return;
      take(object, missing);
    },
    replaced(object, words) {
      const mine = byObject.get(object) ?? none;
      const missing = [...mine].filter((word) => !words.includes(word));
      if (missing.length === 0) return;
      byObject.set(object, new Set([...mine, ...words]));
      came.set(object, new Set([...(came.get(object) ?? none), ...words]));
      take(object, missing);
    },
    drain: () => shortening.drain(),
  };
}
