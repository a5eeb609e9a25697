import { type Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { compareValues, nanosecondsOf, ofNanoseconds, valuesAreEqual } from './compare-values.ts';
import { asInt, type CelFunctions, fail, type Library } from './library.ts';

type List = readonly unknown[];

const ordered = [
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'google.protobuf.Duration',
  'google.protobuf.Timestamp',
];

/** The same function for lists of each type that has an order. */
function ofOrdered(signature: (type: string) => string, call: (list: List) => unknown): CelFunctions {
  return Object.fromEntries(ordered.map((type) => [signature(type), call]));
}

function isSorted(list: List): boolean {
  return list.every((item, index) => index === 0 || compareValues(list[index - 1], item) <= 0);
}

/** @param sign - 1 for the greatest, -1 for the least */
function extreme(name: string, sign: number): (list: List) => unknown {
  return (list) => {
    if (list.length === 0) return fail(`${name} of an empty list`);
    return list.reduce((best, item) => (compareValues(item, best) * sign > 0 ? item : best));
  };
}

/** @throws EvaluationError where not all are of one type */
export function sortedBy(list: List, keys: List): unknown[] {
  const kinds = new Set(keys.map((key) => (typeof key === 'object' && key ? key.constructor : typeof key)));
  if (kinds.size > 1) return fail('the values of the list are of several types');
  const order = keys.map((_, index) => index);
  return order.toSorted((a, b) => compareValues(keys[a], keys[b])).map((index) => list[index]);
}

function durationSum(list: readonly Duration[]): Duration {
  return ofNanoseconds(asInt(list.reduce((all, duration) => all + nanosecondsOf(duration), 0n)));
}

function slice(list: List, from: bigint, to: bigint): unknown[] {
  if (from < 0n || from > to || to > list.length)
    return fail(`from ${from} to ${to} is no part of a list of ${list.length}`);
  return list.slice(Number(from), Number(to));
}

function flatten(list: List, depth: bigint): unknown[] {
  if (depth < 0n) return fail('a depth is not negative');
  return depth === 0n
    ? [...list]
    : list.flatMap((item): unknown[] => (Array.isArray(item) ? flatten(item, depth - 1n) : [item]));
}

function distinct(list: List): unknown[] {
  const seen: unknown[] = [];
  for (const item of list) if (!seen.some((other) => valuesAreEqual(item, other))) seen.push(item);
  return seen;
}

/** More than any list that the API server makes within its budget. */
const longestRange = 1_000_000n;

function range(count: bigint): bigint[] {
  if (count > longestRange) return fail(`a range has at most ${longestRange} numbers`);
  return Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index));
}

/** Kubernetes' own functions of lists and, in their third version, those of CEL. `sortBy` stands in comprehensions.ts. */
export const listsLibrary: Library = {
  functions: {
    ...ofOrdered((type) => `list<${type}>.isSorted(): bool`, isSorted),
    ...ofOrdered((type) => `list<${type}>.min(): ${type}`, extreme('min', -1)),
    ...ofOrdered((type) => `list<${type}>.max(): ${type}`, extreme('max', 1)),
    ...ofOrdered(
      (type) => `list<${type}>.sort(): list<${type}>`,
      (list) => sortedBy(list, list),
    ),
    'list<int>.sum(): int': (list: readonly bigint[]) => list.reduce((sum, item) => asInt(sum + item), 0n),
    'list<uint>.sum(): uint': (list: readonly UnsignedInt[]) =>
      new UnsignedInt(list.reduce((sum, item) => sum + item.value, 0n)),
    'list<double>.sum(): double': (list: readonly number[]) => list.reduce((sum, item) => sum + item, 0),
    'list<google.protobuf.Duration>.sum(): google.protobuf.Duration': durationSum,
    'list<T>.indexOf(T): int': (list: List, item: unknown) =>
      BigInt(list.findIndex((one) => valuesAreEqual(one, item))),
    'list<T>.lastIndexOf(T): int': (list: List, item: unknown) =>
      BigInt(list.findLastIndex((one) => valuesAreEqual(one, item))),
    'list<T>.slice(int, int): list<T>': slice,
    'list<list<T>>.flatten(): list<T>': (list: List) => flatten(list, 1n),
    'list<T>.flatten(int): list<dyn>': flatten,
    'list<T>.reverse(): list<T>': (list: List) => list.toReversed(),
    'list<T>.distinct(): list<T>': distinct,
  },
  namespaces: { lists: { 'range(int): list<int>': range } },
};
