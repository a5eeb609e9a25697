/** How many lines a person would say were changed: those that the longer side has beyond what both have in the same order. */
export function changedLines(before: string, after: string): number {
  let [one, other] = [before.split('\n'), after.split('\n')];
  const first = one.findIndex((line, index) => line !== other[index]);
  const start = first === -1 ? one.length : first;
  [one, other] = [one.slice(start), other.slice(start)];
  while (one.length > 0 && other.length > 0 && one.at(-1) === other.at(-1)) {
    one.pop();
    other.pop();
  }
  return Math.max(one.length, other.length) - commonLines(one, other);
}

/** Length of the longest common subsequence. */
function commonLines(one: readonly string[], other: readonly string[]): number {
  let row = Array.from({ length: other.length + 1 }, () => 0);
  for (const line of one) {
    const next = [0];
    other.forEach((word, index) => {
      next.push(line === word ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    });
    row = next;
  }
  return row[other.length] ?? 0;
}
