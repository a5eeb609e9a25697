import { draft, type EventDraft, tokenUsed, type TokenUses } from '@rollcall/shared/events';
import type { GatheredJoin } from './join-case.ts';
import { judgeJoin, type JoinVerdict } from './judge-join.ts';

export interface JudgedJoin extends GatheredJoin {
  readonly verdict: JoinVerdict;
}

export interface JudgedBatch {
  /** In the order of the joins. */
  readonly joins: readonly JudgedJoin[];
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
 * next. They name the same token; no two of them may be about the same cluster, ask for the same name, or come from the same key.
 */
export function judgeBatch(batch: readonly GatheredJoin[]): JudgedBatch {
  const joins: JudgedJoin[] = [];
  let uses: TokenUses | undefined;
  let stored = 0;
  let bytes = 0;
  for (const { attempt, context } of batch) {
    const token = context.token && uses ? { ...context.token, uses } : context.token;
    const refusalsLeft = context.refusalsLeft - stored;
    const bytesLeft = context.bytesLeft - bytes;
    const verdict = judgeJoin(attempt, { ...context, token, refusalsLeft, bytesLeft });
    bytes += verdict.bytes ?? 0;
    if (verdict.refusal) stored += verdict.drafts.length;
    const drafts = verdict.drafts.map((one) => ({ ...one, trace: one.trace ?? attempt.trace }));
    uses = (drafts.find(isUse)?.section as TokenUses | undefined) ?? uses;
    joins.push({ attempt, context, verdict: { ...verdict, drafts } });
  }
  const all = joins.flatMap(({ verdict }) => verdict.drafts);
  return { joins, drafts: [...all.filter((one) => !isUse(one)), ...allUses(all.filter(isUse))] };
}
