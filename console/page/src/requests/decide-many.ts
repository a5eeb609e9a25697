import type { Action, ActionAnswer, ActionVerb } from '../../../rows/index.ts';
import { actionOf, type ActionTarget, whyChanged } from '../cluster/chosen-action.ts';
import { shellWord } from '../cluster/shell-word.ts';
import type { Asked } from '../live/ask-console.ts';

/** What a person decides about several requests, as they were seen when each was picked. */
export interface ManyDecisions {
  readonly verb: Extract<ActionVerb, 'approve' | 'deny'>;
  readonly targets: readonly ActionTarget[];
  readonly reason: string;
}

export interface Decided {
  readonly target: ActionTarget;
  readonly isDone: boolean;
  /** What came of it, or why nothing did. */
  readonly words: string;
}

/** One after the other, so that a refusal is known before the next; one that is not as it was seen is left out. */
export async function decideMany(
  { verb, targets, reason }: ManyDecisions,
  now: (id: string) => ActionTarget | undefined,
  how: { send(action: Action): Promise<Asked<ActionAnswer>>; tell(decided: Decided): void },
): Promise<void> {
  for (const target of targets) {
    const found = now(target.id);
    const why = found ? whyChanged(target, found) : `the request of ${target.name} is gone`;
    if (why !== undefined) {
      how.tell({ target, isDone: false, words: `left out: ${why}` });
      continue;
    }
    const answer = await how.send(actionOf({ verb, target }, { reason }));
    const words = answer.isDone ? answer.value.words : `${answer.refusal.message} (${answer.refusal.code})`;
    how.tell({ target, isDone: answer.isDone, words });
  }
}

/** The same in a terminal. */
export function lineOfMany({ verb, targets, reason }: ManyDecisions): string {
  const words = ['rollcall', verb, '--id', ...targets.map(({ id }) => id)];
  return [...words, ...(reason === '' ? [] : ['--reason', reason])].map(shellWord).join(' ');
}
