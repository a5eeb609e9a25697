import type { Action, ActionVerb, RequestRow } from '../../../rows/index.ts';

/** What an action is for, as the person sees it. */
export interface ActionTarget {
  readonly id: string;
  readonly name: string;
  /** The key that asks, where there is a request. */
  readonly key?: string;
  /** The key that would come in place of the one that is in. */
  readonly replaceKey?: string;
}

/** What the person chose to do, and what they saw then: what comes later changes nothing of what is sent. */
export interface ChosenAction {
  readonly verb: ActionVerb;
  readonly target: ActionTarget;
}

/** What decides a request: a name may come to mean another one, so the id is sent. */
const decides: ReadonlySet<ActionVerb> = new Set(['approve', 'deny']);

export function actionOf(
  { verb, target: { id, name, key, replaceKey } }: ChosenAction,
  { reason = '', set = '' }: { reason?: string; set?: string } = {},
): Action {
  return {
    verb,
    ...(decides.has(verb)
      ? { target: id, isId: true, ...(key === undefined ? {} : { key }) }
      : { target: name }),
    ...(verb === 'approve' && replaceKey !== undefined ? { replaceKey } : {}),
    ...(verb === 'move' && set !== '' ? { set } : {}),
    ...(reason === '' ? {} : { reason }),
  };
}

export const keysOfRequest = ({
  key,
  knownKey,
}: Pick<RequestRow, 'key' | 'knownKey'>): Pick<ActionTarget, 'key' | 'replaceKey'> =>
  knownKey === undefined ? { key } : { key, replaceKey: key };

/** @returns why what was seen is not what there is now */
export function whyChanged(seen: ActionTarget, now: ActionTarget): string | undefined {
  if (now.id !== seen.id || now.name !== seen.name) return `${seen.name} is another cluster now`;
  const isKeyOther = seen.key !== undefined && now.key !== seen.key;
  if (!isKeyOther && now.replaceKey === seen.replaceKey) return undefined;
  if (now.key === undefined) return `the request of ${seen.name} is gone`;
  return isKeyOther ? `${seen.name} asks with another key now` : `${seen.name} has another key now`;
}
