/**
 * Runs work one after another for each key, and different keys at the same time. Within one process it saves the lost races
 * that the append would otherwise decide; between processes the append decides.
 */
export function createKeyedQueue(): <Result>(key: string, work: () => Promise<Result>) => Promise<Result> {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = tails.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === mine) tails.delete(key);
    }
  };
}
