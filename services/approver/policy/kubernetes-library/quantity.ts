import { type CelObject, fail, isInt, largestInt, type Library } from './library.ts';

/**
 * An amount as Kubernetes keeps it: `value` times ten to the power of `scale`. What does not fit into 64 bits, or has more digits than
 * they hold, is kept as a decimal, which counts as no integer from then on, whatever it is worth.
 */
class Quantity implements CelObject {
  readonly value: bigint;
  readonly scale: number;
  readonly isDecimal: boolean;

  constructor(value: bigint, scale: number, isDecimal: boolean) {
    this.value = value;
    this.scale = scale;
    this.isDecimal = isDecimal;
  }

  equals(other: Quantity): boolean {
    return compare(this, other) === 0;
  }
}

const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binarySuffixes: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Nothing in it can be read in two ways: how long it takes does not depend on the text. */
const written = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/;
const nano = -9;
/** Digits that always fit into 64 bits. */
const safeDigits = 18;

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
}

function readSuffix(text: string): Suffix | undefined {
  const [decimal, binary] = [decimalSuffixes[text], binarySuffixes[text]];
  if (decimal !== undefined) return { base: 10, exponent: decimal };
  if (binary !== undefined) return { base: 2, exponent: binary };
  return /^[eE][-+]?[0-9]+$/.test(text) ? { base: 10, exponent: Number(text.slice(1)) } : undefined;
}

/** More or less than any amount of anything. */
const largestExponent = 10_000;

/** What does not end at a billionth is rounded up, away from 0. */
function atNano(value: bigint, scale: number): bigint {
  if (scale >= nano) return value * 10n ** BigInt(scale - nano);
  const unit = 10n ** BigInt(nano - scale);
  return (value + unit - 1n) / unit;
}

function parse(text: string): Quantity | undefined {
  const [all, sign, before = '', behind = '', suffixText = ''] = written.exec(text) ?? [];
  const suffix = readSuffix(suffixText);
  if (!all || !suffix || Math.abs(suffix.exponent) > largestExponent) return undefined;
  const { base, exponent } = suffix;
  const whole = before.replace(/^0+/, '');
  const digits = (whole === '' ? '0' : whole) + behind;
  const signed = (value: bigint) => (sign === '-' ? -value : value);
  if (base === 10) {
    const scale = exponent - behind.length;
    if (digits.length <= safeDigits && scale >= nano)
      return new Quantity(signed(BigInt(digits)), scale, false);
    return new Quantity(signed(atNano(BigInt(digits), scale)), nano, true);
  }
  const value = BigInt(digits) * 2n ** BigInt(exponent);
  const room = 15 - digits.length - Math.trunc((exponent * 3) / 10) - 1;
  if (room >= 0 && behind === '' && isInt(value)) return new Quantity(signed(value), 0, false);
  const rounded = atNano(value, -behind.length);
  const most = atNano(largestInt, 0);
  return new Quantity(signed(rounded > most ? most : rounded), nano, true);
}

function quantity(text: string): Quantity {
  return parse(text) ?? fail(`"${text}" is no quantity`);
}

function signOf({ value }: Quantity): number {
  return value === 0n ? 0 : value < 0n ? -1 : 1;
}

/** The power of ten above an amount. */
function magnitude({ value, scale }: Quantity): number {
  return (value < 0n ? -value : value).toString().length + scale;
}

/** Both at the smaller scale of the two. */
function aligned(a: Quantity, b: Quantity): [bigint, bigint, number] {
  const scale = Math.min(a.scale, b.scale);
  const at = (one: Quantity) => one.value * 10n ** BigInt(one.scale - scale);
  return [at(a), at(b), scale];
}

function compare(a: Quantity, b: Quantity): number {
  const sign = signOf(a);
  if (sign !== signOf(b)) return Math.sign(sign - signOf(b));
  if (sign === 0) return 0;
  // Powers of ten that are far apart are never written out.
  if (magnitude(a) !== magnitude(b)) return magnitude(a) > magnitude(b) ? sign : -sign;
  const [left, right] = aligned(a, b);
  return left === right ? 0 : left < right ? -1 : 1;
}

function add(a: Quantity, b: Quantity): Quantity {
  if (!a.isDecimal && !b.isDecimal) {
    if (b.value === 0n) return a;
    if (a.value === 0n) return b;
  }
  const [left, right, scale] = aligned(a, b);
  const sum = left + right;
  const isDecimal = a.isDecimal || b.isDecimal || ![left, right, sum].every(isInt);
  return new Quantity(sum, scale, isDecimal);
}

function negated({ value, scale, isDecimal }: Quantity): Quantity {
  return new Quantity(-value, scale, isDecimal);
}

function ofInt(value: bigint): Quantity {
  return new Quantity(value, 0, false);
}

function integerOf({ value, scale, isDecimal }: Quantity): bigint | undefined {
  if (isDecimal || scale < 0) return undefined;
  if (scale > safeDigits + 1 && value !== 0n) return undefined;
  const whole = value === 0n ? 0n : value * 10n ** BigInt(scale);
  return isInt(whole) ? whole : undefined;
}

function approximate({ value, scale }: Quantity): number {
  return scale === 0 ? Number(value) : Number(value) * Number(`1e${scale}`);
}

const type = 'kubernetes.Quantity';

export const quantityLibrary: Library = {
  types: { [type]: Quantity },
  operators: { [`${type} == ${type}`]: (a: Quantity, b: Quantity) => a.equals(b) },
  functions: {
    [`quantity(string): ${type}`]: quantity,
    'isQuantity(string): bool': (text: string) => parse(text) !== undefined,
    [`sign(${type}): int`]: (one: Quantity) => BigInt(signOf(one)),
    [`${type}.isInteger(): bool`]: (one: Quantity) => integerOf(one) !== undefined,
    [`${type}.asInteger(): int`]: (one: Quantity) => integerOf(one) ?? fail('the quantity is no integer'),
    [`${type}.asApproximateFloat(): double`]: approximate,
    [`${type}.isGreaterThan(${type}): bool`]: (a: Quantity, b: Quantity) => compare(a, b) > 0,
    [`${type}.isLessThan(${type}): bool`]: (a: Quantity, b: Quantity) => compare(a, b) < 0,
    [`${type}.compareTo(${type}): int`]: (a: Quantity, b: Quantity) => BigInt(compare(a, b)),
    [`${type}.add(${type}): ${type}`]: add,
    [`${type}.add(int): ${type}`]: (a: Quantity, b: bigint) => add(a, ofInt(b)),
    [`${type}.sub(${type}): ${type}`]: (a: Quantity, b: Quantity) => add(a, negated(b)),
    [`${type}.sub(int): ${type}`]: (a: Quantity, b: bigint) => add(a, ofInt(-b)),
  },
};
