import type { Facts } from '@rollcall/shared/bus';
import type { MemberApi } from './member-api.ts';
import { sumResources } from './quantity.ts';

type MemberReader = Pick<MemberApi, 'server' | 'caPem' | 'get'>;

interface NodeItem {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly podCIDRs?: readonly string[];
    readonly providerID?: string;
  };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Bounds a page of nodes to about 2 MB: a node with its list of images is some 10 to 20 kB. */
const nodesPerPage = 100;
/** The hub takes so many; a cluster has one or two. */
const maxPodCidrs = 16;

/**
 * Reads what the agent reports of its member. Whatever cannot be read is absent: a cluster without the right to list nodes
 * registers all the same. Two requests at a time: each connection costs the API server a handshake.
 */
export async function readMemberFacts(member: MemberReader, agentVersion: string): Promise<Facts> {
  const [api, nodes] = await Promise.all([readApiFacts(member), readNodeFacts(member)]);
  return {
    ...api,
    ...nodes,
    apiServerURL: member.server,
    ...(member.caPem === undefined || member.caPem.length > 16_384 ? {} : { apiServerCA: member.caPem }),
    agentVersion,
  };
}

async function readApiFacts(member: MemberReader): Promise<Facts> {
  const version = await readJson<{ gitVersion?: string; platform?: string }>(member, '/version');
  const facts: Facts = {};
  if (version?.gitVersion !== undefined) facts.kubernetesVersion = version.gitVersion;
  if (version?.platform !== undefined) facts.platform = version.platform;
  for (const check of ['healthz', 'livez', 'readyz'] as const) {
    const status = await member.get(`/${check}`).then(
      (answer) => answer.status,
      () => undefined,
    );
    // 401 and 403 say nothing about health.
    if (status === 200 || (status !== undefined && status >= 500)) facts[check] = status === 200;
  }
  return facts;
}

async function readNodeFacts(member: MemberReader): Promise<Facts> {
  const all: NodeItem[] = [];
  let after = '';
  do {
    const path = `/api/v1/nodes?limit=${nodesPerPage}${after === '' ? '' : `&continue=${encodeURIComponent(after)}`}`;
    const page = await readJson<{ items?: NodeItem[]; metadata?: { continue?: string } }>(member, path);
    if (!page?.items) return {};
    all.push(...page.items.map(slim));
    after = page.metadata?.continue ?? '';
  } while (after !== '');
  return describeNodes(all);
}

/** Only what is summed is kept, so that a big member does not fill the agent's memory. */
function slim({ metadata, spec, status }: NodeItem): NodeItem {
  const { capacity = {}, allocatable = {}, conditions = [] } = status ?? {};
  return {
    metadata: { name: metadata.name, labels: metadata.labels ?? {} },
    spec: spec ?? {},
    status: { capacity, allocatable, conditions: conditions.filter(({ type }) => type === 'Ready') },
  };
}

/** What a list of nodes says about the cluster. */
export function describeNodes(nodes: readonly NodeItem[]): Facts {
  const isReady = (node: NodeItem) =>
    node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  const [first] = nodes;
  const provider = first?.spec?.providerID?.split(':')[0];
  const region = first?.metadata.labels?.['topology.kubernetes.io/region'];
  const podCIDRs = [...new Set(nodes.flatMap((node) => node.spec?.podCIDRs ?? []))].slice(0, maxPodCidrs);
  return {
    nodes: {
      total: nodes.length,
      ready: nodes.filter(isReady).length,
      schedulable: nodes.filter((node) => isReady(node) && node.spec?.unschedulable !== true).length,
      ...(first ? { sample: first.metadata.name } : {}),
    },
    capacity: sumResources(nodes.map((node) => node.status?.capacity ?? {})),
    allocatable: sumResources(nodes.map((node) => node.status?.allocatable ?? {})),
    ...(podCIDRs.length > 0 ? { podCIDRs } : {}),
    ...(provider ? { provider } : {}),
    ...(region ? { region } : {}),
  };
}

async function readJson<T>(member: MemberReader, path: string): Promise<T | undefined> {
  try {
    const answer = await member.get(path);
    return answer.status === 200 ? (JSON.parse(answer.body) as T) : undefined;
  } catch {
    return undefined;
  }
}
