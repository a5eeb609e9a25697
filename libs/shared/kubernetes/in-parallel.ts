/** Works on many items, some at once. What one throws is thrown, and no other is begun then. @returns the results in their order */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  // Shared by all workers: each takes the next one.
  const queue = items.entries();
  let hasFailed = false;
  async function worker(): Promise<void> {
    for (const [index, item] of queue) {
      if (hasFailed) return;
      results[index] = await work(item).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
