import { draft, type EventDraft, tokenUsed, type TokenUses } from '@rollcall/shared/events';
import { type JoinAttempt, type JoinContext, type JoinVerdict, judgeJoin } from './join-request.ts';

/** A join, and what was read for it. All joins of a batch name the same token. */
export interface BatchJoin {
  readonly attempt: JoinAttempt;
  readonly context: JoinContext;
  readonly trace: NonNullable<EventDraft['trace']>;
}

export interface BatchVerdict {
  /** In the order of the joins. */
  readonly verdicts: readonly JoinVerdict[];
  /** What is written for all of them, all or nothing. */
  readonly drafts: readonly EventDraft[];
}

const isUse = ({ definition }: EventDraft): boolean => definition === tokenUsed;

/** One event of an aggregate for one append: the uses of all. */
function allUses(uses: readonly EventDraft[]): EventDraft[] {
  const last = uses.at(-1);
  if (!last || uses.length === 1) return [...uses];
  const usedBy = uses.map(({ section }) => (section as TokenUses).lastUsedBy);
  const section = { ...(last.section as TokenUses), usedBy };
  const { reason, aggregate, head, trace } = last;
  const message = `used by ${uses.length} clusters at once`;
  return [
    { ...draft(tokenUsed, { aggregate, head }, { reason, message, section }), ...(trace ? { trace } : {}) },
  ];
}

/**
 * Judges joins one after another, as if each had been written before the next was read: the use that one takes is gone for the
 * next. No two of them may be about the same cluster, ask for the same name, or come from the same key.
 */
export function judgeBatch(batch: readonly BatchJoin[]): BatchVerdict {
  const verdicts: JoinVerdict[] = [];
  let uses: TokenUses | undefined;
  let stored = 0;
  let bytes = 0;
  for (const { attempt, context, trace } of batch) {
    const token = context.token && uses ? { ...context.token, uses } : context.token;
    const refusalsLeft = context.refusalsLeft - stored;
    const bytesLeft = context.bytesLeft - bytes;
    const verdict = judgeJoin(attempt, { ...context, token, refusalsLeft, bytesLeft });
    bytes += verdict.bytes ?? 0;
    if (verdict.refusal) stored += verdict.drafts.length;
    const drafts = verdict.drafts.map((one) => ({ ...one, trace: one.trace ?? trace }));
    uses = (drafts.find(isUse)?.section as TokenUses | undefined) ?? uses;
    verdicts.push({ ...verdict, drafts });
  }
  const all = verdicts.flatMap(({ drafts }) => drafts);
  return { verdicts, drafts: [...all.filter((one) => !isUse(one)), ...allUses(all.filter(isUse))] };
}
