import type { EventKind } from './define-event.ts';

/**
 * What an aggregate of a kind can begin with: whoever lists the subjects of these types finds every one of the kind, and an archive
 * keeps the newest of each. The simulation ends at a first event that is not among them.
 */
export const firstTypes = {
  // A made-up cluster (`rollcall simulate`) begins with its admission; one that a backup does not know can be banned.
  cluster: ['requested', 'refused', 'predefined', 'banned', 'admitted'],
  token: ['declared'],
  policy: ['declared'],
  set: ['declared'],
} as const satisfies Partial<Record<EventKind, readonly string[]>>;

/** A kind whose aggregates can be listed. */
export type ListedKind = keyof typeof firstTypes;

export function isListedKind(kind: string): kind is ListedKind {
  return kind in firstTypes;
}
