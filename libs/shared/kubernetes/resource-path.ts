import type { Resource } from './resources.ts';

export interface PathOptions {
  namespace?: string | undefined;
  name?: string | undefined;
  subresource?: string | undefined;
}

/**
 * The path of a resource, of one object of it, or of a subresource of that object. Without a namespace a namespaced
 * resource is meant across all namespaces. Every part is encoded: a name never adds a path segment.
 */
export function resourcePath(resource: Resource, options: PathOptions = {}): string {
  const parts = resource.group === '' ? ['api'] : ['apis', resource.group];
  parts.push(resource.version);
  if (resource.namespaced && options.namespace !== undefined)
    parts.push('namespaces', segment(options.namespace));
  parts.push(resource.plural);
  if (options.name !== undefined) parts.push(segment(options.name));
  if (options.subresource !== undefined) parts.push(segment(options.subresource));
  return `/${parts.join('/')}`;
}

/** Adds the query parameters that have a value. */
export function withQuery(
  path: string,
  query: Record<string, string | number | boolean | undefined>,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

// An empty segment, `.` or `..` would turn a request for one object into one for its parent: nothing encodes them.
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`"${text}" cannot be a name in a path`);
  return encodeURIComponent(text);
}
