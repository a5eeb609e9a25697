import { isIPv6 } from 'node:net';

/** The parts of a URL that Kubernetes' CEL can ask for. */
export interface ParsedUrl {
  readonly scheme: string;
  /** `name:password`, undefined where there is no `@`. */
  readonly user: string | undefined;
  readonly host: string;
  readonly escapedPath: string;
  readonly query: string;
  readonly fragment: string;
}

/** Bytes of a text as letters of one byte each, which is what is escaped. */
function bytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function textOf(letters: string): string {
  return Buffer.from(letters, 'latin1').toString();
}

const badEscape = /%(?![0-9A-Fa-f]{2})/;

function unescapeBytes(escaped: string): string {
  return escaped.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** What may stand in a path as it is. */
const pathLetters = /^(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]]|%[0-9A-Fa-f]{2})*$/;

function escapePath(raw: string): string {
  if (pathLetters.test(raw)) return raw;
  return unescapeBytes(bytes(raw)).replaceAll(
    /[^A-Za-z0-9\-_.~$&+,/:;=@]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** Letters of a host; of ASCII only these, and no others by an escape. */
const hostLetters = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]|[^\0-\x7f]|%[89A-Fa-f][0-9A-Fa-f]|%25)*$/;
const zoneLetters = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]|[^\0-\x7f]|%[0-9A-Fa-f]{2})*$/;
const portAtEnd = /^(?::[0-9]*)?$/;

function bracketed(host: string): string | undefined {
  const end = host.lastIndexOf(']');
  const port = host.slice(end + 1);
  if (end < 0 || !portAtEnd.test(port)) return undefined;
  const [address = '', ...zone] = host.slice(1, end).split(/(?=%25)/);
  if (!hostLetters.test(address) || !zoneLetters.test(zone.join(''))) return undefined;
  const name = textOf(unescapeBytes(bytes(host.slice(1, end))));
  return isIPv6(name) ? `[${name}]${port}` : undefined;
}

function parseHost(scheme: string, host: string): string | undefined {
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) return undefined;
  if (bracket === 0) return bracketed(host);
  const isStrict = scheme === 'http' || scheme === 'https';
  const colon = isStrict ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0 && !portAtEnd.test(host.slice(colon))) return undefined;
  return hostLetters.test(host) ? textOf(unescapeBytes(bytes(host))) : undefined;
}

const userLetters = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

function parseAuthority(scheme: string, authority: string): Pick<ParsedUrl, 'user' | 'host'> | undefined {
  const at = authority.lastIndexOf('@');
  const host = parseHost(scheme, authority.slice(at + 1));
  const user = at < 0 ? undefined : authority.slice(0, at);
  if (host === undefined) return undefined;
  if (user !== undefined && (!userLetters.test(user) || badEscape.test(user))) return undefined;
  return { user, host };
}

/** @returns the scheme and what is behind it, undefined where there should be one and is none */
function splitScheme(raw: string): [scheme: string, rest: string] | undefined {
  if (raw.startsWith(':')) return undefined;
  const [all = '', scheme = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(raw) ?? [];
  return [scheme.toLowerCase(), raw.slice(all.length)];
}

const noParts: ParsedUrl = {
  scheme: '',
  user: undefined,
  host: '',
  escapedPath: '',
  query: '',
  fragment: '',
};

/** @param isRequest - as a client asks a server: with a scheme or an absolute path, and no host before it has a scheme */
function parse(raw: string, isRequest: boolean): ParsedUrl | undefined {
  if (/[\p{Cc}]/u.test(raw.replaceAll(/[\u0080-\u009f]/g, '')) || (raw === '' && isRequest)) return undefined;
  if (raw === '*') return { ...noParts, escapedPath: '*' };
  const [scheme, behind] = splitScheme(raw) ?? [];
  if (scheme === undefined || behind === undefined) return undefined;
  const [rest = '', ...queries] = behind.split('?');
  const query = queries.join('?');
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...noParts, scheme, query };
    if (isRequest || /^[^/]*:/.test(rest)) return undefined;
  }
  const hasHost = rest.startsWith('//') && (scheme !== '' || (!isRequest && !rest.startsWith('///')));
  const [, authority = '', path = ''] = hasHost ? (/^\/\/([^/]*)(.*)$/s.exec(rest) ?? []) : ['', '', rest];
  const parsed = parseAuthority(scheme, authority);
  if (!parsed || badEscape.test(path)) return undefined;
  return { ...noParts, ...parsed, scheme, escapedPath: escapePath(path), query };
}

/** Whether a text is an absolute URL or an absolute path. */
export function isUrl(raw: string): boolean {
  return parse(raw, true) !== undefined;
}

/** @returns undefined where the text is neither an absolute URL nor an absolute path */
export function parseUrl(raw: string): ParsedUrl | undefined {
  if (!isUrl(raw)) return undefined;
  const [before = '', ...fragments] = raw.split('#');
  const fragment = fragments.join('#');
  const parsed = parse(before, false);
  return parsed && !badEscape.test(fragment) ? { ...parsed, fragment } : undefined;
}

/** The port of `host`, and the name without brackets. */
export function splitHost(host: string): { hostname: string; port: string } {
  const [, name = host, port = ''] = /^(.*):([0-9]*)$/s.exec(host) ?? [];
  const inBrackets = /^\[(.*)\]$/s.exec(name)?.[1];
  return { hostname: inBrackets ?? name, port };
}

function unescapeQuery(escaped: string): string | undefined {
  return badEscape.test(escaped) ? undefined : textOf(unescapeBytes(bytes(escaped.replaceAll('+', ' '))));
}

/** Each key with its values; what cannot be read is left out. */
export function queryValues(query: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [rawKey = '', ...rawValue] = pair.split('=');
    const [key, value] = [unescapeQuery(rawKey), unescapeQuery(rawValue.join('='))];
    if (key !== undefined && value !== undefined) values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}
