import { TooManyResults, wholeAnswer } from './direct-get.ts';
import type { RawMessage } from './raw-message.ts';

/** Of one request: a cluster has at most 39 events that are the last of their type. */
const mostTogether = 24;

/**
 * What is asked for before this process comes to rest goes to the server together: a request of its own for each aggregate costs
 * more than what is in it, and whoever writes for many reads many. Nobody waits for others to ask.
 * @param get - reads what is under some filters, `rollcall.events.<kind>.<id>.*`
 * @returns reads what is under one of them; rejects as `get` does
 */
export function readTogether(
  get: (filters: readonly string[]) => Promise<RawMessage[]>,
): (filter: string) => Promise<RawMessage[]> {
  const waiting = new Map<string, PromiseWithResolvers<RawMessage[]>>();

  async function read(lot: ReadonlyMap<string, PromiseWithResolvers<RawMessage[]>>): Promise<void> {
    try {
      const found = Map.groupBy(wholeAnswer(await get([...lot.keys()])), ({ subject }) => filterOf(subject));
      for (const [filter, { resolve }] of lot) resolve(found.get(filter) ?? []);
    } catch (error) {
      if (error instanceof TooManyResults && lot.size > 1)
        return void (await Promise.all(Array.from(lot, (one) => read(new Map([one])))));
      for (const { reject } of lot.values()) reject(error);
    }
  }

  function flush(): void {
    const all = [...waiting];
    waiting.clear();
    for (let at = 0; at < all.length; at += mostTogether)
      void read(new Map(all.slice(at, at + mostTogether)));
  }

  return (filter) => {
    if (waiting.size === 0) setImmediate(flush);
    const one = waiting.get(filter) ?? Promise.withResolvers<RawMessage[]>();
    waiting.set(filter, one);
    return one.promise;
  };
}

const filterOf = (subject: string) => subject.slice(0, subject.lastIndexOf('.') + 1) + '*';
