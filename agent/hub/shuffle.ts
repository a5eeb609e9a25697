/** A fleet spreads over the servers of its hub. */
export function inAnyOrder<T>(list: readonly T[]): T[] {
  const drawn = list.map((one) => ({ one, place: Math.random() }));
  return drawn.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}
