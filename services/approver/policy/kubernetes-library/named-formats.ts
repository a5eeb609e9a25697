import { Optional } from '@marcbachmann/cel-js';
import { type CelObject, type CelFunctions, type Library } from './library.ts';
import { isUrl } from './parse-url.ts';

/** What is wrong with a text; nothing where it has the format. */
type Check = (text: string) => string[];

class NamedFormat implements CelObject {
  readonly name: string;
  readonly check: Check;

  constructor(name: string, check: Check) {
    this.name = name;
    this.check = check;
  }

  equals(other: NamedFormat): boolean {
    return this.name === other.name;
  }
}

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const dnsLabel = new RegExp(`^${label}$`);
const dnsSubdomain = new RegExp(`^${label}(?:\\.${label})*$`);
const dns1035Label = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const qualifiedName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

function matching(pattern: RegExp, what: string): Check {
  return (text) => (pattern.test(text) ? [] : [`"${text}" is no ${what}`]);
}

function shortEnough(most: number): Check {
  return (text) => (Buffer.byteLength(text) > most ? [`longer than ${most} characters`] : []);
}

function all(...checks: readonly Check[]): Check {
  return (text) => checks.flatMap((check) => check(text));
}

/** What something is appended to, so that a dash at its end does not stand at the end. */
function asPrefix(check: Check): Check {
  return (text) => check(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text);
}

const isLabel = all(shortEnough(63), matching(dnsLabel, 'DNS label'));
const isSubdomain = all(shortEnough(253), matching(dnsSubdomain, 'DNS subdomain'));
const isOldLabel = all(shortEnough(63), matching(dns1035Label, 'DNS label of RFC 1035'));
const isName = all(
  (text) => (text === '' ? ['the name is empty'] : []),
  shortEnough(63),
  matching(qualifiedName, 'name of a label'),
);
const isLabelValue = all(shortEnough(63), (text) =>
  text === '' || qualifiedName.test(text) ? [] : [`"${text}" is no value of a label`],
);

function isQualifiedName(text: string): string[] {
  const [prefix = '', name, ...more] = text.split('/');
  if (more.length > 0) return [`"${text}" has more than one "/"`];
  if (name === undefined) return isName(prefix);
  return [...(prefix === '' ? ['the prefix is empty'] : isSubdomain(prefix)), ...isName(name)];
}

function isDate(text: string): boolean {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  return date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

const time = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[^]\d+)?(?:z|[+-]\d{2}:\d{2})$/;

function isDateTime(text: string): boolean {
  const [date = '', ofDay] = text.toLowerCase().split('t');
  return isDate(date) && ofDay !== undefined && time.test(ofDay);
}

const is = (what: string, test: (text: string) => boolean): Check => {
  return (text) => (test(text) ? [] : [`"${text}" is no ${what}`]);
};

const checks: Readonly<Record<string, Check>> = {
  dns1123Label: isLabel,
  dns1123Subdomain: isSubdomain,
  dns1035Label: isOldLabel,
  qualifiedName: isQualifiedName,
  dns1123LabelPrefix: asPrefix(isLabel),
  dns1123SubdomainPrefix: asPrefix(isSubdomain),
  dns1035LabelPrefix: asPrefix(isOldLabel),
  labelValue: isLabelValue,
  uri: is('URI', isUrl),
  uuid: matching(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i, 'UUID'),
  byte: matching(
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/,
    'base64',
  ),
  date: is('date', isDate),
  datetime: is('time', isDateTime),
};

const type = 'kubernetes.NamedFormat';
const formats = new Map(Object.entries(checks).map(([name, check]) => [name, new NamedFormat(name, check)]));

const byName: CelFunctions = Object.fromEntries(
  [...formats].map(([name, format]) => [`${name}(): ${type}`, () => format]),
);

/** Whether texts are what Kubernetes wants at many places: `format.dns1123Label().validate(text)`. */
export const namedFormatsLibrary: Library = {
  types: { [type]: NamedFormat },
  operators: { [`${type} == ${type}`]: (a: NamedFormat, b: NamedFormat) => a.equals(b) },
  functions: {
    [`${type}.validate(string): optional<list<string>>`]: ({ check }: NamedFormat, text: string) => {
      const problems = check(text);
      return problems.length === 0 ? Optional.none() : Optional.of(problems);
    },
  },
  namespaces: {
    format: {
      ...byName,
      [`named(string): optional<${type}>`]: (name: string) => {
        const format = formats.get(name);
        return format ? Optional.of(format) : Optional.none();
      },
    },
  },
};
