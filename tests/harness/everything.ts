import type { KubeClient } from '@rollcall/shared/kubernetes';

interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
}

/** What servers write by themselves and nobody installs. */
const comeAndGo = new Set([
  'events',
  'leases',
  'endpoints',
  'endpointslices',
  'componentstatuses',
  'apiservices',
]);

async function read<T>(client: KubeClient, path: string): Promise<T> {
  const { status, body } = await client.raw(path);
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return JSON.parse(body) as T;
}

/** Every version of a group lists the same objects; the preferred one is enough. */
async function groupPaths(client: KubeClient): Promise<string[]> {
  const { groups } = await read<{ groups: { preferredVersion: { groupVersion: string } }[] }>(
    client,
    '/apis',
  );
  return ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
}

/** Every object there is in an API server, whatever its kind, as `<group>/<resource> <namespace>/<name>`. */
export async function everythingIn(client: KubeClient): Promise<string[]> {
  const found: string[] = [];
  for (const path of await groupPaths(client)) {
    const { resources } = await read<ResourceList>(client, path);
    for (const { name, verbs } of resources) {
      if (!verbs.includes('list') || comeAndGo.has(name)) continue;
      const { items } = await read<{ items: { metadata: { name: string; namespace?: string } }[] }>(
        client,
        `${path}/${name}`,
      );
      for (const { metadata } of items)
        found.push(`${path.split('/')[2]}/${name} ${metadata.namespace ?? ''}/${metadata.name}`);
    }
  }
  return found.toSorted();
}
