import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { entriesOf, isMap } from '../compare-values.ts';
import { durationText, timestampText, typeName } from '../conversions.ts';
import { doubleText, localFixed, localScientific, plainFixed } from './go-double.ts';
import { fail } from '../library.ts';
import { escapes } from '../strings.ts';

/** A part of a format such as `%.2f`, or text between such parts. */
export type Clause =
  | { readonly text: string }
  | { readonly verb: string; readonly precision: number | undefined };

/**
 * Reads the format of `format`.
 * @returns its parts, or why it is none
 */
export function readFormat(format: string): Clause[] | string {
  const clauses: Clause[] = [];
  for (let index = 0; index < format.length;) {
    const rest = format.slice(index);
    const [all = '', percent, precision, verb] = /^%(%)|^%(?:\.(\d+))?([sdfebxXo])|^[^%]+/.exec(rest) ?? [];
    if (all === '') return `"${rest.slice(0, 4)}" is no clause of a format`;
    if (verb === undefined) clauses.push({ text: percent ?? all });
    else clauses.push({ verb, precision: precision === undefined ? undefined : Number(precision) });
    index += all.length;
  }
  return clauses;
}

const isWhole = (value: unknown): value is bigint | UnsignedInt =>
  typeof value === 'bigint' || value instanceof UnsignedInt;

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** A text within a list or a map that is formatted. */
function quoted(text: string): string {
  const letters = Array.from(text, (letter) => {
    const escaped = escapes[letter];
    if (escaped !== undefined) return escaped;
    if (printable.test(letter)) return letter;
    const code = letter.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    const hex = code.toString(16);
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return `"${letters.join('')}"`;
}

/** A value within a list or a map. */
function innerText(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value instanceof Uint8Array) return `b${quoted(plainText(value))}`;
  if (typeof value === 'number') {
    const text = plainFixed(value);
    return Number.isFinite(value) ? text : `"${text}"`;
  }
  if (value instanceof Date) return `timestamp("${timestampText(value)}")`;
  if (value instanceof Duration) return `duration("${durationText(value)}")`;
  return plainText(value);
}

function mapText(map: object): string {
  const entries = entriesOf(map).map(([key, value]) => [innerText(key), innerText(value)] as const);
  const sorted = entries.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map((entry) => entry.join(':')).join(', ')}}`;
}

/** `%s` */
function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return doubleText(value);
  if (typeof value === 'boolean' || value === null || isWhole(value)) return `${value}`;
  if (value instanceof Uint8Array)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  if (value instanceof Date) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (Array.isArray(value)) return `[${value.map(innerText).join(', ')}]`;
  const type = typeName(value);
  if (type !== undefined) return type;
  return isMap(value) ? mapText(value) : fail('%s takes no value of this type');
}

function wholeText(value: unknown, base: number, verb: string): string {
  return isWhole(value) ? BigInt(value.valueOf()).toString(base) : fail(`%${verb} takes whole numbers`);
}

/** `%f` and `%e` take doubles, and the names of those that cannot be written. */
function doubleOf(value: unknown, verb: string): number {
  if (typeof value === 'number') return value;
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return Number(value);
  return fail(`%${verb} takes doubles`);
}

function hexText(value: unknown): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : wholeText(value, 16, 'x');
}

const defaultPrecision = 6;

function clauseText(verb: string, precision: number | undefined, value: unknown): string {
  switch (verb) {
    case 's':
      return plainText(value);
    case 'd':
      return wholeText(value, 10, verb);
    case 'f':
      return localFixed(doubleOf(value, verb), precision ?? defaultPrecision);
    case 'e':
      return localScientific(doubleOf(value, verb), precision ?? defaultPrecision);
    case 'b':
      return typeof value === 'boolean' ? `${Number(value)}` : wholeText(value, 2, verb);
    case 'o':
      return wholeText(value, 8, verb);
    case 'x':
      return hexText(value);
    default:
      return hexText(value).toUpperCase();
  }
}

/** @throws EvaluationError where the format or a value does not fit */
export function formatText(format: string, values: readonly unknown[]): string {
  const clauses = readFormat(format);
  if (typeof clauses === 'string') return fail(clauses);
  let next = 0;
  const parts = clauses.map((clause) => {
    if ('text' in clause) return clause.text;
    if (next >= values.length) return fail(`the format takes more than ${values.length} values`);
    return clauseText(clause.verb, clause.precision, values[next++]);
  });
  return parts.join('');
}

const typesOfVerb: Readonly<Record<string, readonly string[]>> = {
  s: [
    'string',
    'bool',
    'bytes',
    'int',
    'uint',
    'double',
    'map',
    'list',
    'type',
    'null',
    'dyn',
    'google.protobuf.Timestamp',
    'google.protobuf.Duration',
  ],
  d: ['int', 'uint', 'dyn'],
  f: ['double', 'string', 'dyn'],
  e: ['double', 'string', 'dyn'],
  b: ['int', 'uint', 'bool', 'dyn'],
  o: ['int', 'uint', 'dyn'],
  x: ['int', 'uint', 'string', 'bytes', 'dyn'],
};

/** Why values of these types cannot be formatted, or undefined. */
export function formatProblem(format: string, types: readonly string[]): string | undefined {
  const clauses = readFormat(format);
  if (typeof clauses === 'string') return clauses;
  const verbs = clauses.flatMap((clause) => ('verb' in clause ? [clause.verb] : []));
  if (verbs.length !== types.length)
    return `the format takes ${verbs.length} values, and ${types.length} are given`;
  const at = verbs.findIndex((verb, index) => {
    const known = typesOfVerb[verb.toLowerCase()] ?? [];
    return !known.includes(types[index] ?? '');
  });
  return at < 0 ? undefined : `%${verbs[at]} takes no ${types[at]}`;
}
