import type { KubeClient, Resource } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { findResource } from '../get/kind-names.ts';
import type { HubFlags } from '../hub-access.ts';

/** Somebody is waiting at the keyboard: names that are late are not worth it. */
const withinMs = 1500;
const pageSize = 500;

interface Listed {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly clusterName?: string };
  readonly status?: {
    readonly result?: string;
    readonly conditions?: readonly { type: string; status: string; reason: string }[];
  };
}

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Page after page for as long as somebody waits: of a large fleet what is typed may stand on the last one. */
async function list(client: KubeClient, resource: Resource, namespace?: string): Promise<readonly Listed[]> {
  const isIn = resource.namespaced && namespace !== undefined;
  const place = isIn ? `namespaces/${encodeURIComponent(namespace)}/` : '';
  const path = `/apis/${resource.group}/${resource.version}/${place}${resource.plural}?limit=${pageSize}`;
  const untilMs = performance.now() + withinMs;
  const found: Listed[] = [];
  for (let next = ''; ;) {
    const timeoutMs = untilMs - performance.now();
    if (timeoutMs <= 0) return found;
    const more = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
    const answer = await client.raw(`${path}${more}`, { timeoutMs }).catch(() => undefined);
    if (answer?.status !== 200) return found;
    const page = JSON.parse(answer.body) as { items: Listed[]; metadata?: { continue?: string } };
    found.push(...page.items);
    next = page.metadata?.continue ?? '';
    if (next === '') return found;
  }
}

function readyText({ status }: Listed): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined ? '' : ready.status === 'True' ? 'Ready' : ready.reason;
}

const readers = {
  cluster: [
    resources.managedClusters,
    (one: Listed) => ({ value: one.metadata.name, description: readyText(one) }),
  ],
  request: [
    resources.clusterRegistrationRequests,
    (one: Listed) => ({
      value: one.spec?.clusterName ?? one.metadata.name,
      description: one.status?.result ?? 'Pending',
    }),
  ],
  token: [
    resources.clusterRegistrationTokens,
    (one: Listed) => ({ value: one.metadata.name, description: readyText(one) }),
  ],
  policy: [
    resources.approvalPolicies,
    (one: Listed) => ({ value: one.metadata.name, description: readyText(one) }),
  ],
  set: [resources.managedClusterSets, (one: Listed) => ({ value: one.metadata.name, description: '' })],
} as const;
type ListedKind = keyof typeof readers;
export type LiveKind = ListedKind | 'operation';

/** The kind that a person names, by any of its names. */
export function liveKindOf(word: string): LiveKind | undefined {
  const resource = findResource(word);
  return (Object.keys(readers) as ListedKind[]).find((kind) => readers[kind][0] === resource);
}

/** What `rollcall confirm` takes: at most one. */
async function heldOperations(client: KubeClient): Promise<Candidate[]> {
  const { heldOperationsPlace, readShownOperations } = await import('@rollcall/shared/resources');
  const path = `/api/v1/namespaces/${heldOperationsPlace.namespace}/configmaps/${heldOperationsPlace.name}`;
  const { status, body } = await client.raw(path, { timeoutMs: withinMs });
  if (status !== 200) return [];
  const { data } = JSON.parse(body) as { data?: Record<string, string> };
  const { held } = readShownOperations(data);
  return held ? [{ value: held.id, description: `operations: ${held.operations.length}` }] : [];
}

async function candidatesOf(client: KubeClient, kind: LiveKind, namespace?: string): Promise<Candidate[]> {
  if (kind === 'operation') return heldOperations(client);
  const [resource, candidate] = readers[kind];
  return (await list(client, resource, namespace)).map(candidate);
}

/**
 * Names that there are on the hub now; none where it is away, slow, or not ours to look at.
 * @param flags.namespace - of tokens; without it of all namespaces
 */
export async function liveNames(
  kinds: readonly LiveKind[],
  flags: HubFlags & { readonly namespace?: string },
): Promise<Candidate[]> {
  // Only now: it reads kubeconfigs, and most completions need none.
  const { openHub } = await import('../hub-access.ts');
  try {
    const client = openHub(flags);
    try {
      const found = await Promise.all(kinds.map((kind) => candidatesOf(client, kind, flags.namespace)));
      return found.flat();
    } finally {
      client.close();
    }
  } catch {
    return [];
  }
}
