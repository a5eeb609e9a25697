import { Optional } from '@marcbachmann/cel-js';
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { type CelObject, fail } from './library.ts';

/** Nanoseconds of a duration. */
export function nanosecondsOf(duration: Duration): bigint {
  return duration.seconds * 1_000_000_000n + BigInt(duration.nanos);
}

export function ofNanoseconds(nanoseconds: bigint): Duration {
  return new Duration(nanoseconds / 1_000_000_000n, Number(nanoseconds % 1_000_000_000n));
}

function isCelObject(value: unknown): value is CelObject {
  return typeof value === 'object' && value !== null && 'equals' in value;
}

/** Numbers of all three kinds as what JavaScript compares exactly with each other. */
function asNumber(value: unknown): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return value instanceof UnsignedInt ? value.value : undefined;
}

/** What a map has under each key; maps that are written in an expression are objects. */
export function entriesOf(map: object): [unknown, unknown][] {
  return map instanceof Map ? [...map] : Object.entries(map);
}

function mapsAreEqual(a: object, b: object): boolean {
  const [ofA, ofB] = [entriesOf(a), entriesOf(b)];
  return (
    ofA.length === ofB.length &&
    ofA.every(([key, value]) =>
      ofB.some(([other, its]) => valuesAreEqual(key, other) && valuesAreEqual(value, its)),
    )
  );
}

function objectsAreEqual(a: object, b: object): boolean {
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => valuesAreEqual(item, b[index]));
  }
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Date) return b instanceof Date && a.getTime() === b.getTime();
  if (a instanceof Duration) return b instanceof Duration && nanosecondsOf(a) === nanosecondsOf(b);
  if (a instanceof Optional) {
    if (!(b instanceof Optional) || a.hasValue() !== b.hasValue()) return false;
    return !a.hasValue() || valuesAreEqual(a.value(), b.value());
  }
  if (isCelObject(a)) return isCelObject(b) && a.constructor === b.constructor && a.equals(b);
  return isMap(a) && isMap(b) && mapsAreEqual(a, b);
}

/** Whether a value is a map of CEL. */
export function isMap(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return value instanceof Map || prototype === null || prototype === Object.prototype;
}

/** `==` of CEL, for values whose types nobody has checked. */
export function valuesAreEqual(a: unknown, b: unknown): boolean {
  const [left, right] = [asNumber(a), asNumber(b)];
  // oxlint-disable-next-line eqeqeq -- exact between bigint and number, which is what CEL asks for
  if (left !== undefined && right !== undefined) return left == right;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  return objectsAreEqual(a, b);
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof Uint8Array ? value : undefined;
}

/** What is less, equal and greater by itself in JavaScript. */
function ordered(value: unknown): number | bigint | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof Date) return value.getTime();
  if (value instanceof Duration) return nanosecondsOf(value);
  return asNumber(value);
}

/**
 * The order of two values of one type, as CEL has it: texts by their bytes.
 * @returns negative, 0 or positive
 */
export function compareValues(a: unknown, b: unknown): number {
  const [left, right] = [bytesOf(a), bytesOf(b)];
  if (left && right) return Buffer.compare(left, right);
  const [low, high] = [ordered(a), ordered(b)];
  if (low === undefined || high === undefined) return fail('the values of the list have no order');
  return low < high ? -1 : Number(low > high);
}
