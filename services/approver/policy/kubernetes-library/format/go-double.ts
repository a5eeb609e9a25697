/** A positive number as its decimal digits and the power of ten of the first one. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

/** The fewest digits that give the same number again. */
function shortest(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e');
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) };
}

/** More than the digits behind the point of any number. */
const mostDigits = 1100;

/** Every digit of the number itself. */
function exact(value: number): Decimal {
  if (value === 0) return shortest(value);
  const { numerator, denominator } = fraction(Math.abs(value));
  const digits = ((numerator * 10n ** BigInt(mostDigits)) / denominator).toString();
  return { digits, exponent: digits.length - 1 - mostDigits };
}

function fraction(value: number): { numerator: bigint; denominator: bigint } {
  let [numerator, denominator] = [value, 1n];
  while (!Number.isInteger(numerator)) {
    numerator *= 2;
    denominator *= 2n;
  }
  return { numerator: BigInt(numerator), denominator };
}

/** Rounds behind so many digits, halves to the even digit. */
function round({ digits, exponent }: Decimal, count: number): Decimal {
  if (count < 0) return { digits: '0', exponent };
  const kept = BigInt(`0${digits.slice(0, count)}`) * 10n ** BigInt(Math.max(0, count - digits.length));
  const rest = digits.slice(count);
  const half = `5${'0'.repeat(Math.max(0, rest.length - 1))}`;
  const up = rest > half || (rest === half && rest !== '' && kept % 2n === 1n);
  const rounded = (kept + (up ? 1n : 0n)).toString().padStart(count, '0');
  return { digits: rounded, exponent: exponent + rounded.length - count };
}

function special(value: number, infinity: string): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return undefined;
  return `${value < 0 ? '-' : infinity === '∞' ? '' : '+'}${infinity}`;
}

function signOf(value: number): string {
  return value < 0 || Object.is(value, -0) ? '-' : '';
}

function fixedDigits(decimal: Decimal, precision: number): string {
  const { digits } = round(decimal, decimal.exponent + 1 + precision);
  const padded = digits.padStart(precision + 1, '0');
  const whole = padded.slice(0, padded.length - precision);
  return precision === 0 ? whole : `${whole}.${padded.slice(-precision)}`;
}

/** As Go's `%g`, which is what `string(double)` gives. */
export function doubleText(value: number): string {
  const named = special(value, 'Inf');
  if (named !== undefined) return named;
  const { digits, exponent } = shortest(value);
  if (exponent >= -4 && exponent < 6) return decimalText(value);
  const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
  const power = `${Math.abs(exponent)}`.padStart(2, '0');
  return `${signOf(value)}${mantissa}e${exponent < 0 ? '-' : '+'}${power}`;
}

/** As Go's `%.6f`, which doubles within lists and maps are formatted with. */
export function plainFixed(value: number, precision = 6): string {
  return special(value, 'Inf') ?? signOf(value) + fixedDigits(exact(value), precision);
}

/** As `%.<precision>f` of `format`: in English, so with commas between thousands. */
export function localFixed(value: number, precision: number): string {
  const named = special(value, '∞');
  if (named !== undefined) return named;
  const [whole = '', rest] = fixedDigits(exact(value), precision).split('.');
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return `${signOf(value)}${grouped}${rest === undefined ? '' : `.${rest}`}`;
}

const raised: Readonly<Record<string, string>> = Object.fromEntries(
  [...'⁰¹²³⁴⁵⁶⁷⁸⁹'].map((letter, digit) => [`${digit}`, letter]),
);

/** Digits behind the point of `%e`, whatever its precision is: that one is a width to an API server. */
const scientificDigits = 6;

/** As `%.<width>e` of `format`: in English, so with a power of ten that is written above the line. */
export function localScientific(value: number, width: number): string {
  const named = special(value, '∞');
  if (named !== undefined) return named.padStart(width);
  const { digits, exponent } = round(exact(value), scientificDigits + 1);
  const mantissa = `${digits[0]}.${digits.slice(1, scientificDigits + 1)}`;
  const power = `${Math.abs(exponent)}`.padStart(2, '0').replaceAll(/\d/g, (digit) => raised[digit] ?? '');
  return `${signOf(value)}${mantissa}×10${exponent < 0 ? '⁻' : ''}${power}`.padStart(width);
}

/** The fewest digits that give the same number again, never with a power of ten. */
export function decimalText(value: number): string {
  const { digits, exponent } = shortest(value);
  const padded = exponent < 0 ? `${'0'.repeat(-exponent)}${digits}` : digits.padEnd(exponent + 1, '0');
  const whole = Math.max(0, exponent) + 1;
  const rest = padded.slice(whole);
  return `${signOf(value)}${padded.slice(0, whole)}${rest === '' ? '' : `.${rest}`}`;
}
