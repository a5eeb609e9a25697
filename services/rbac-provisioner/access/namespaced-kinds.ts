import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, Resource } from '@rollcall/shared/kubernetes';

/** A kind whose objects go with their namespace. */
export interface Kind {
  readonly resource: Resource;
  /** As people write it: `ConfigMap`, `Widget.example.com`. */
  readonly label: string;
}

interface Discovered {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly freshness?: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly scope: string;
        readonly verbs: readonly string[];
        readonly responseKind: { readonly kind: string };
      }[];
    }[];
  }[];
}

/** One answer for all groups, kinds of CRDs that were just made included. Kubernetes 1.30 and later. */
const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

async function discover(kube: Pick<KubeClient, 'raw'>, path: string): Promise<Discovered> {
  const { status, body } = await kube.raw(path, { accept });
  if (status === 200) return JSON.parse(body) as Discovered;
  throw new RollcallError('KUBE_UNREACHABLE', `GET ${path}: the API server answers ${status}`);
}

/**
 * Every kind of namespaced objects that the API server has, each once, in the version that its group prefers. What cannot be
 * deleted is only a view of others (metrics, packages), and nothing that a namespace could lose.
 * @returns also the groups whose own server does not answer: what is there of them, nobody knows
 * @throws RollcallError KUBE_UNREACHABLE
 */
export async function readKinds(
  kube: Pick<KubeClient, 'raw'>,
): Promise<{ kinds: readonly Kind[]; unknown: readonly string[] }> {
  const [core, others] = await Promise.all([discover(kube, '/api'), discover(kube, '/apis')]);
  const kinds = new Map<string, Kind>();
  const unknown: string[] = [];
  for (const { metadata, versions } of [...core.items, ...others.items]) {
    const group = metadata?.name ?? '';
    for (const { version, freshness, resources = [] } of versions) {
      if (freshness === 'Stale') unknown.push(`${group}/${version}`);
      for (const { resource: plural, scope, verbs, responseKind } of resources) {
        const isHeld = scope === 'Namespaced' && verbs.includes('list') && verbs.includes('delete');
        const key = `${group}/${plural}`;
        if (!isHeld || kinds.has(key)) continue;
        const { kind } = responseKind;
        const isBuiltIn = !group.includes('.') || group.endsWith('.k8s.io');
        const label = isBuiltIn ? kind : `${kind}.${group}`;
        kinds.set(key, { resource: { group, version, plural, kind, namespaced: true }, label });
      }
    }
  }
  return { kinds: [...kinds.values()], unknown };
}
