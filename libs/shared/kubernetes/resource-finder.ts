import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '../errors/index.ts';
import { parsedBody } from './client.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './objects.ts';
import { apiVersionOf, resources, type Resource } from './resources.ts';

/** How long a kind may take from its CRD to the first object of it; it is a matter of some 100 ms. */
export const establishWithinMs = 30_000;
export const pollMs = 50;

/**
 * Says which resource an object is of: from our own table, or else from discovery, asked once per API version and again while a
 * new kind comes up.
 */
export function createResourceFinder(
  client: KubeClient,
  signal: AbortSignal | undefined,
): (object: Pick<KubeObject, 'apiVersion' | 'kind'>) => Promise<Resource> {
  const known = new Map<string, Resource>();
  for (const resource of Object.values(resources))
    known.set(`${apiVersionOf(resource)}/${resource.kind}`, resource);

  return async (object) => {
    const key = `${object.apiVersion}/${object.kind}`;
    const deadlineMs = performance.now() + establishWithinMs;
    for (;;) {
      const resource = known.get(key);
      if (resource !== undefined) return resource;
      for (const found of await discover(client, object.apiVersion, signal)) {
        known.set(`${object.apiVersion}/${found.kind}`, found);
      }
      if (known.has(key)) continue;
      if (performance.now() > deadlineMs) {
        throw new RollcallError('KUBE_API', `the API server does not know the kind ${key}`);
      }
      await delay(pollMs, undefined, { signal });
    }
  };
}

interface ApiResourceList {
  resources?: { name: string; kind: string; namespaced: boolean }[];
}

async function discover(
  client: KubeClient,
  apiVersion: string,
  signal: AbortSignal | undefined,
): Promise<Resource[]> {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const { status, body } = await client.raw(path, { signal });
  if (status !== 200) return [];
  const list = parsedBody(body, `GET ${path}`) as ApiResourceList;
  return (list.resources ?? [])
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced }) => ({ group, version, plural: name, kind, namespaced }));
}
