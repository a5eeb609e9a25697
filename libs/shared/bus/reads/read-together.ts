import { TooManyResults, wholeAnswer } from './direct-get.ts';
import type { RawMessage } from './raw-message.ts';

/** What is asked for: which filter a message answers, and how many go into one request, whose answer has to hold them all. */
export interface Together {
  filterOf(subject: string): string;
  readonly most: number;
}

/** Aggregates by their events. A cluster has at most 39 that are the last of their type. */
export const aggregates: Together = {
  filterOf: (subject) => `${subject.slice(0, subject.lastIndexOf('.') + 1)}*`,
  most: 24,
};

/** Subjects with one message each. */
export const subjects: Together = { filterOf: (subject) => subject, most: 200 };

/**
 * What is asked for before this process comes to rest goes to the server together: a request of its own for each of them costs
 * more than what is in it, and whoever writes for many reads many. Nobody waits for others to ask.
 * @param get - reads what is under some filters
 * @returns reads what is under one of them; rejects as `get` does
 */
export function readTogether(
  { filterOf, most }: Together,
  get: (filters: readonly string[]) => Promise<RawMessage[]>,
): (filter: string) => Promise<RawMessage[]> {
  const waiting = new Map<string, PromiseWithResolvers<RawMessage[]>>();

  async function read(batch: ReadonlyMap<string, PromiseWithResolvers<RawMessage[]>>): Promise<void> {
    try {
      const found = Map.groupBy(wholeAnswer(await get([...batch.keys()])), ({ subject }) =>
        filterOf(subject),
      );
      for (const [filter, { resolve }] of batch) resolve(found.get(filter) ?? []);
    } catch (error) {
      if (error instanceof TooManyResults && batch.size > 1)
        return void (await Promise.all(Array.from(batch, (one) => read(new Map([one])))));
      for (const { reject } of batch.values()) reject(error);
    }
  }

  function flush(): void {
    const all = [...waiting];
    waiting.clear();
    for (let at = 0; at < all.length; at += most) void read(new Map(all.slice(at, at + most)));
  }

  return (filter) => {
    if (waiting.size === 0) setImmediate(flush);
    const one = waiting.get(filter) ?? Promise.withResolvers<RawMessage[]>();
    waiting.set(filter, one);
    return one.promise;
  };
}
