/*
 * The shape of a kubeconfig, checked by hand: every command of a person reads one, and loading the schema library for it took
 * 40 of the 200 ms that such a command lasted (measured). Open, because kubeconfigs carry settings of other tools.
 */

export interface KubeconfigCluster {
  readonly server: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
}

/** A command that gives a token, as managed Kubernetes services have them. */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
}

export interface KubeconfigUser {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly exec?: ExecPlugin | null;
}

export interface KubeconfigContext {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

export interface KubeconfigFile {
  readonly 'current-context'?: string | null;
  readonly clusters?: readonly { readonly name: string; readonly cluster: KubeconfigCluster }[] | null;
  readonly users?: readonly { readonly name: string; readonly user: KubeconfigUser }[] | null;
  readonly contexts?: readonly { readonly name: string; readonly context: KubeconfigContext }[] | null;
}

/** @returns what is wrong with a value, without the value: it may be a key */
type Check = (value: unknown, at: string) => string[];

const isText: Check = (value, at) => (typeof value === 'string' ? [] : [`${at} is no text`]);
const isFlag: Check = (value, at) => (typeof value === 'boolean' ? [] : [`${at} is neither true nor false`]);
const isBase64: Check = (value, at) =>
  typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
    ? []
    : [`${at} is not base64`];
const optional =
  (check: Check): Check =>
  (value, at) =>
    value === undefined ? [] : check(value, at);
const nullable =
  (check: Check): Check =>
  (value, at) =>
    value === null ? [] : optional(check)(value, at);
const listOf =
  (check: Check): Check =>
  (value, at) =>
    Array.isArray(value)
      ? value.flatMap((each, index) => check(each, `${at}[${index}]`))
      : [`${at} is no list`];
const mapOf =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${at} is no mapping`];
    const entries = value as Readonly<Record<string, unknown>>;
    return Object.entries(fields).flatMap(([name, check]) => check(entries[name], `${at}.${name}`));
  };

const text = optional(isText);
const base64 = optional(isBase64);
const cluster = mapOf({
  server: isText,
  'certificate-authority': text,
  'certificate-authority-data': base64,
  'insecure-skip-tls-verify': optional(isFlag),
  'tls-server-name': text,
  'proxy-url': text,
});
const exec = mapOf({
  apiVersion: isText,
  command: isText,
  args: nullable(listOf(isText)),
  env: nullable(listOf(mapOf({ name: isText, value: isText }))),
});
const user = mapOf({
  token: text,
  tokenFile: text,
  'client-certificate': text,
  'client-certificate-data': base64,
  'client-key': text,
  'client-key-data': base64,
  exec: nullable(exec),
});
const context = mapOf({ cluster: isText, user: isText, namespace: text });
const file = mapOf({
  'current-context': nullable(isText),
  clusters: nullable(listOf(mapOf({ name: isText, cluster }))),
  users: nullable(listOf(mapOf({ name: isText, user }))),
  contexts: nullable(listOf(mapOf({ name: isText, context }))),
});

/** @returns the file, or what is wrong with it, without a value of it */
export function readKubeconfigShape(content: unknown): KubeconfigFile | { readonly problems: string[] } {
  const problems = file(content, 'it').map((problem) => problem.replace(/^it\./, ''));
  return problems.length > 0 ? { problems } : (content as KubeconfigFile);
}
