import { type CelObject, fail, type Library } from './library.ts';
import { isUrl, type ParsedUrl, parseUrl, queryValues, splitHost } from './parse-url.ts';

class KubernetesUrl implements CelObject {
  readonly parts: ParsedUrl;

  constructor(parts: ParsedUrl) {
    this.parts = parts;
  }

  equals(other: KubernetesUrl): boolean {
    return JSON.stringify(this.parts) === JSON.stringify(other.parts);
  }
}

function url(text: string): KubernetesUrl {
  const parts = parseUrl(text);
  return parts ? new KubernetesUrl(parts) : fail(`"${text}" is no absolute URL and no absolute path`);
}

const type = 'kubernetes.URL';

/** URLs as Go reads them, which is not what `URL` of JavaScript does. */
export const urlLibrary: Library = {
  types: { [type]: KubernetesUrl },
  operators: { [`${type} == ${type}`]: (a: KubernetesUrl, b: KubernetesUrl) => a.equals(b) },
  functions: {
    [`url(string): ${type}`]: url,
    'isURL(string): bool': isUrl,
    [`${type}.getScheme(): string`]: ({ parts }: KubernetesUrl) => parts.scheme,
    [`${type}.getHost(): string`]: ({ parts }: KubernetesUrl) => parts.host,
    [`${type}.getHostname(): string`]: ({ parts }: KubernetesUrl) => splitHost(parts.host).hostname,
    [`${type}.getPort(): string`]: ({ parts }: KubernetesUrl) => splitHost(parts.host).port,
    [`${type}.getEscapedPath(): string`]: ({ parts }: KubernetesUrl) => parts.escapedPath,
    [`${type}.getQuery(): map<string, list<string>>`]: ({ parts }: KubernetesUrl) => queryValues(parts.query),
  },
};
