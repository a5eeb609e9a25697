import { type CelObject, fail, type Library } from './library.ts';

/**
 * Numbers have up to 64 bits and may not begin with 0. Written here and not taken from the package `semver`: that one takes a leading
 * `v`, spaces, and numbers only up to 2^53.
 */
const number = '(0|[1-9][0-9]*)';
const version = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);
const largest = 2n ** 64n - 1n;

class Semver implements CelObject {
  readonly numbers: readonly bigint[];
  /** Of a version before its release: `alpha.1`. */
  readonly prerelease: readonly (string | bigint)[];

  constructor(numbers: readonly bigint[], prerelease: readonly (string | bigint)[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: Semver): boolean {
    return compare(this, other) === 0;
  }
}

/** A number of a version as an int of CEL, which has one bit less. */
function part(index: number): (version: Semver) => bigint {
  return ({ numbers }) => BigInt.asIntN(64, numbers[index] ?? 0n);
}

function parse(text: string): Semver | undefined {
  const [, major, minor, patch, before] = version.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const numbers = [major, minor, patch].map(BigInt);
  const names = before?.split('.') ?? [];
  if (names.some((name) => /^0[0-9]+$/.test(name))) return undefined;
  const prerelease = names.map((name) => (/^[0-9]+$/.test(name) ? BigInt(name) : name));
  const isLarge = [...numbers, ...prerelease].some((one) => typeof one === 'bigint' && one > largest);
  return isLarge ? undefined : new Semver(numbers, prerelease);
}

/** Without a leading `v` and leading zeros, and with the parts that are missing. */
function normalized(text: string): string | undefined {
  const [major = '', minor = '0', ...rest] = text.replace(/^v/, '').split('.');
  const patch = rest.length === 0 ? '0' : rest.join('.');
  const isShort = rest.length === 0;
  if (isShort && /[+-]/.test(text.replace(/^v/, ''))) return undefined;
  return [major, minor, patch].map((one) => one.replace(/^0+(?=[0-9])/, '')).join('.');
}

function parseNormalized(text: string, normalize: boolean): Semver | undefined {
  const taken = normalize ? normalized(text) : text;
  return taken === undefined ? undefined : parse(taken);
}

function semver(text: string, normalize = false): Semver {
  return parseNormalized(text, normalize) ?? fail(`"${text}" is no semantic version`);
}

const order = (less: boolean, equal: boolean): number => (equal ? 0 : less ? -1 : 1);

/** Names in a prerelease: numbers come before words. */
function compareNames(a: string | bigint, b: string | bigint): number {
  if (typeof a !== typeof b) return typeof a === 'bigint' ? -1 : 1;
  return order(a < b, a === b);
}

function compare(a: Semver, b: Semver): number {
  for (const [index, one] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (one !== other) return order(one < other, false);
  }
  // A release comes after everything before it.
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length - a.prerelease.length);
  for (const [index, one] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const ofNames = compareNames(one, other);
    if (ofNames !== 0) return ofNames;
  }
  return Math.sign(a.prerelease.length - b.prerelease.length);
}

const type = 'kubernetes.Semver';

export const semverLibrary: Library = {
  types: { [type]: Semver },
  operators: { [`${type} == ${type}`]: (a: Semver, b: Semver) => a.equals(b) },
  functions: {
    [`semver(string): ${type}`]: (text: string) => semver(text),
    [`semver(string, bool): ${type}`]: semver,
    'isSemver(string): bool': (text: string) => parse(text) !== undefined,
    'isSemver(string, bool): bool': (text: string, normalize: boolean) =>
      parseNormalized(text, normalize) !== undefined,
    [`${type}.major(): int`]: part(0),
    [`${type}.minor(): int`]: part(1),
    [`${type}.patch(): int`]: part(2),
    [`${type}.isGreaterThan(${type}): bool`]: (a: Semver, b: Semver) => compare(a, b) > 0,
    [`${type}.isLessThan(${type}): bool`]: (a: Semver, b: Semver) => compare(a, b) < 0,
    [`${type}.compareTo(${type}): int`]: (a: Semver, b: Semver) => BigInt(compare(a, b)),
  },
};
