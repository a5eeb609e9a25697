import { type Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { nanosecondsOf, ofNanoseconds } from './compare-values.ts';
import { decimalText, doubleText } from './format/go-double.ts';
import { ipTexts } from './ip-and-cidr.ts';
import { asInt, fail, type Library } from './library.ts';

/** The name of a type that is held as a value, as `type(x)` gives it; undefined for other values. */
export function typeName(value: unknown): string | undefined {
  const tag = Object.prototype.toString.call(value);
  const name = /^\[object Type<(.*)>\]$/.exec(tag)?.[1];
  if (name === 'null') return 'null_type';
  return name === 'optional' ? 'optional_type' : name;
}

const largestUint = 2n ** 64n - 1n;

function asUint(value: bigint): UnsignedInt {
  return value >= 0n && value <= largestUint ? new UnsignedInt(value) : fail(`unsigned overflow: ${value}`);
}

function truncated(value: number): bigint {
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : fail(`${value} is no integer`);
}

function intOfDouble(value: number): bigint {
  // The doubles at both ends are no ints any more.
  return Math.abs(value) < 2 ** 63 ? truncated(value) : fail(`integer overflow: ${value}`);
}

function uintOfDouble(value: number): UnsignedInt {
  return value >= 0 && value < 2 ** 64 ? asUint(truncated(value)) : fail(`unsigned overflow: ${value}`);
}

function intOfText(text: string): bigint {
  return /^[+-]?[0-9]+$/.test(text)
    ? asInt(BigInt(text.replace(/^\+/, '')))
    : fail(`"${text}" is no integer`);
}

const specialDoubles: Readonly<Record<string, number>> = {
  inf: Infinity,
  '+inf': Infinity,
  '-inf': -Infinity,
  nan: Number.NaN,
  infinity: Infinity,
  '+infinity': Infinity,
  '-infinity': -Infinity,
};

function doubleOfText(text: string): number {
  const special = specialDoubles[text.toLowerCase()];
  if (special !== undefined) return special;
  const isDecimal = /^[+-]?(?:[0-9](?:_?[0-9])*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(text);
  const value = isDecimal ? Number(text.replaceAll('_', '')) : Number.NaN;
  return Number.isFinite(value) ? value : fail(`"${text}" is no double`);
}

function boolOfText(text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : fail(`"${text}" is no bool`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOfBytes(value: Uint8Array): string {
  try {
    return utf8.decode(value);
  } catch {
    return fail('the bytes are no UTF-8');
  }
}

const [earliestMs, latestMs] = [-62_135_596_800_000, 253_402_300_799_999];
const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/;

function readTimestamp(text: string): Date | undefined {
  const [, local = '', fraction = '', zone = ''] = rfc3339.exec(text) ?? [];
  const utc = new Date(`${local}Z`);
  // A day that no month has would be one of the next month.
  if (Number.isNaN(utc.getTime()) || !utc.toISOString().startsWith(local)) return undefined;
  const time = new Date(`${local}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  return time.getTime() >= earliestMs && time.getTime() <= latestMs ? time : undefined;
}

function timestampOfSeconds(seconds: bigint): Date {
  const ms = Number(seconds) * 1000;
  return ms >= earliestMs && ms <= latestMs ? new Date(ms) : fail(`${seconds} is no time`);
}

/** As RFC 3339 writes it, without zeros at the end of a fraction. */
export function timestampText(time: Date): string {
  return time.toISOString().replace(/\.?0*Z$/, 'Z');
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const part = /(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(ns|us|µs|μs|ms|s|m|h)/g;
const written = new RegExp(`^[+-]?(?:0|(?:${part.source})+)$`);

function nanosecondsOfText(text: string): bigint | undefined {
  if (!written.test(text)) return undefined;
  let sum = 0n;
  for (const [, whole = '', behind = '', alone = '', unit = ''] of text.matchAll(part)) {
    const fraction = behind + alone;
    sum += (BigInt(whole + fraction) * (units[unit] ?? 0n)) / 10n ** BigInt(fraction.length);
  }
  return sum < 2n ** 63n ? (text.startsWith('-') ? -sum : sum) : undefined;
}

export function durationText({ seconds, nanos }: Duration): string {
  return `${decimalText(Number(seconds) + nanos / 1e9)}s`;
}

const [timestampType, durationType] = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];
const same = <T>(value: T): T => value;

/** What CEL converts into each other; the engine takes other texts, and rounds other numbers. */
export const conversionsLibrary: Library = {
  operators: {
    'bytes < bytes': (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) < 0,
    'bytes <= bytes': (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) <= 0,
    'bytes > bytes': (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) > 0,
    'bytes >= bytes': (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) >= 0,
  },
  functions: {
    'int(int): int': same,
    'int(uint): int': ({ value }: UnsignedInt) => asInt(value),
    'int(double): int': intOfDouble,
    'int(string): int': intOfText,
    [`int(${timestampType}): int`]: (time: Date) => BigInt(Math.floor(time.getTime() / 1000)),
    [`int(${durationType}): int`]: nanosecondsOf,
    'uint(uint): uint': same,
    'uint(int): uint': asUint,
    'uint(double): uint': uintOfDouble,
    'uint(string): uint': (text: string) =>
      /^[0-9]+$/.test(text) ? asUint(BigInt(text)) : fail(`"${text}" is no unsigned integer`),
    'double(double): double': same,
    'double(int): double': Number,
    'double(uint): double': ({ value }: UnsignedInt) => Number(value),
    'double(string): double': doubleOfText,
    'bool(bool): bool': same,
    'bool(string): bool': boolOfText,
    'string(string): string': same,
    'string(bool): string': String,
    'string(int): string': String,
    'string(uint): string': String,
    'string(double): string': doubleText,
    'string(bytes): string': textOfBytes,
    [`string(${timestampType}): string`]: timestampText,
    [`string(${durationType}): string`]: durationText,
    ...ipTexts,
    [`timestamp(${timestampType}): ${timestampType}`]: same,
    [`timestamp(int): ${timestampType}`]: timestampOfSeconds,
    [`timestamp(string): ${timestampType}`]: (text: string) =>
      readTimestamp(text) ?? fail(`"${text}" is no time such as 2026-11-21T12:00:00Z`),
    [`duration(${durationType}): ${durationType}`]: same,
    [`duration(int): ${durationType}`]: ofNanoseconds,
    [`duration(string): ${durationType}`]: (text: string) =>
      ofNanoseconds(nanosecondsOfText(text) ?? fail(`"${text}" is no duration such as 1h30m`)),
  },
};
