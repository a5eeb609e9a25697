/**
 * Whether a pattern can take time that doubles with every character: a group that repeats without end and holds a part that
 * repeats without end (`(a+)+`). It is a guess by shape: some
 * such patterns are quick, so it is only warned of. What really runs is bounded by the deadline of the worker.
 */
export function mayBeSlow(pattern: string): boolean {
  /** For each open group: whether something in it repeats without end. */
  const open: boolean[] = [false];
  for (let index = 0; index < pattern.length; index++) {
    const letter = pattern[index];
    if (letter === '\\') index++;
    else if (letter === '[') index = endOfClass(pattern, index);
    else if (letter === '(') open.push(false);
    else if (letter === ')') {
      const inner = open.pop() ?? false;
      const repeats = isEndless(pattern, index + 1);
      if (inner && repeats) return true;
      open[open.length - 1] = (open.at(-1) ?? false) || inner || repeats;
    } else if (isEndless(pattern, index)) open[open.length - 1] = true;
  }
  return false;
}

function endOfClass(pattern: string, from: number): number {
  for (let index = from + 1; index < pattern.length; index++) {
    if (pattern[index] === '\\') index++;
    else if (pattern[index] === ']') return index;
  }
  return pattern.length;
}

/** Whether `*`, `+` or `{n,}` stands there. */
function isEndless(pattern: string, index: number): boolean {
  return /^(?:[*+]|\{\d+,\})/.test(pattern.slice(index, index + 12));
}
