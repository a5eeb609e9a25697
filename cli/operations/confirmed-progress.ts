import type { ShownOperation, ShownOperations } from '@rollcall/shared/resources';

/** How far the hub is with the wants of one confirmed list. */
export type ConfirmedProgress =
  | { readonly state: 'waiting' }
  /** Another operation has joined before the hub looked: the id that was confirmed names no list any more. */
  | { readonly state: 'joined'; readonly id: string }
  | { readonly state: 'acting' | 'done'; readonly left: readonly ShownOperation[] };

const isSame = (a: ShownOperation, b: ShownOperation): boolean =>
  a.clusterId === b.clusterId && a.digest === b.digest;

/**
 * @param id - of the list that a person confirmed
 * @param asked - the wants in it
 * @param shown - what the hub shows now
 */
export function confirmedProgress(
  id: string,
  asked: readonly ShownOperation[],
  { held, confirmed }: ShownOperations,
): ConfirmedProgress {
  if (held?.id === id) return { state: 'waiting' };
  const isAsked = (operation: ShownOperation) => asked.some((each) => isSame(each, operation));
  if (held?.operations.some(isAsked)) return { state: 'joined', id: held.id };
  const left = (confirmed?.operations ?? []).filter(isAsked);
  return { state: left.length > 0 ? 'acting' : 'done', left };
}
