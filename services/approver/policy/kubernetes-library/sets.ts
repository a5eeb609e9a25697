import { valuesAreEqual } from './compare-values.ts';
import type { Library } from './library.ts';

type List = readonly unknown[];

function has(list: List, item: unknown): boolean {
  return list.some((other) => valuesAreEqual(other, item));
}

function contains(list: List, part: List): boolean {
  return part.every((item) => has(list, item));
}

/** Lists whose order and repetitions do not count. */
export const setsLibrary: Library = {
  namespaces: {
    sets: {
      'contains(list<T>, list<T>): bool': contains,
      'equivalent(list<T>, list<T>): bool': (a: List, b: List) => contains(a, b) && contains(b, a),
      'intersects(list<T>, list<T>): bool': (a: List, b: List) => a.some((item) => has(b, item)),
    },
  },
};
