import type { ShownWish, ShownWishes } from '@rollcall/shared/resources';

/** How far the hub is with the wishes of one confirmed list. */
export type ConfirmedProgress =
  | { readonly state: 'waiting' }
  /** Another wish has joined before the hub looked: the id that was confirmed names no list any more. */
  | { readonly state: 'joined'; readonly id: string }
  | { readonly state: 'acting' | 'done'; readonly left: readonly ShownWish[] };

const isSame = (a: ShownWish, b: ShownWish): boolean => a.clusterId === b.clusterId && a.digest === b.digest;

/**
 * @param id - of the list that a person confirmed
 * @param asked - the wishes in it
 * @param shown - what the hub shows now
 */
export function confirmedProgress(
  id: string,
  asked: readonly ShownWish[],
  { held, confirmed }: ShownWishes,
): ConfirmedProgress {
  if (held?.id === id) return { state: 'waiting' };
  const isAsked = (wish: ShownWish) => asked.some((each) => isSame(each, wish));
  if (held?.wishes.some(isAsked)) return { state: 'joined', id: held.id };
  const left = (confirmed?.wishes ?? []).filter(isAsked);
  return { state: left.length > 0 ? 'acting' : 'done', left };
}
