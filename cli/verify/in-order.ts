/**
 * Parts of one history as one, each in order itself. What two of them have is given once, by the first.
 */
export async function* inOrder<Part extends { readonly sequence: number }>(
  parts: readonly AsyncIterable<Part>[],
): AsyncIterable<Part> {
  const open = parts.map((part) => part[Symbol.asyncIterator]());
  const next = await Promise.all(open.map((iterator) => iterator.next()));
  for (;;) {
    let first: Part | undefined;
    for (const { done, value } of next)
      if (!done && value.sequence < (first?.sequence ?? Infinity)) first = value;
    if (first === undefined) return;
    yield first;
    for (const [at, iterator] of open.entries()) {
      const head = next[at];
      if (head && !head.done && head.value.sequence === first.sequence) next[at] = await iterator.next();
    }
  }
}
