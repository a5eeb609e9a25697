/**
 * What goes first when not everything can go at once, be it for want of a slot or of write budget: liveness and decisions, then
 * what is left of clusters that leave (ten thousand may at once), then what members report and what is merely compared, then counts
 * and uses that nobody waits for.
 */
export const importances = ['transition', 'departure', 'fact', 'count'] as const;
export type Importance = (typeof importances)[number];

export function moreImportant(a: Importance, b: Importance): Importance {
  return importances.indexOf(a) <= importances.indexOf(b) ? a : b;
}

export function lessImportant(a: Importance, b: Importance): Importance {
  return moreImportant(a, b) === a ? b : a;
}
