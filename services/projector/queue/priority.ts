/**
 * What goes first when not everything can go at once, be it for want of a slot or of write budget: liveness and decisions, then
 * what is left of clusters that leave (ten thousand may at once), then what members report and what is merely compared, then counts
 * and uses that nobody waits for.
 */
export const priorities = ['transition', 'departure', 'fact', 'count'] as const;
export type Priority = (typeof priorities)[number];

export function higherPriority(a: Priority, b: Priority): Priority {
  return priorities.indexOf(a) <= priorities.indexOf(b) ? a : b;
}

export function lowerPriority(a: Priority, b: Priority): Priority {
  return higherPriority(a, b) === a ? b : a;
}
