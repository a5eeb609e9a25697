import type { KubeObject, StoredObject } from '@rollcall/shared/kubernetes';

type Resources = Readonly<Record<string, string>>;

/** What is read of a node. */
export type NodeObject = KubeObject<
  {
    readonly unschedulable?: boolean;
    readonly podCIDRs?: readonly string[];
    readonly providerID?: string;
  },
  {
    readonly capacity?: Resources;
    readonly allocatable?: Resources;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  }
>;

/** All that is remembered of a node: a member may have thousands, and the agent has little memory. */
export interface CountedNode {
  readonly name: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly podCIDRs: readonly string[];
  readonly provider: string | undefined;
  /** `key=value`, sorted. */
  readonly labels: readonly string[];
}

/** Values that are alike become one: nodes of one kind differ in their names and little else. */
export interface Pool {
  text(text: string): string;
  resources(resources: Resources): Resources;
}

/** Then begun anew: what is remembered keeps what it has. A cluster of thousands of nodes has a few thousand values that differ. */
const mostPooled = 20_000;
/** More than any node has. */
const mostLabels = 100;
/** As many names of resources as the hub takes (`factsSchema`). */
const mostResources = 128;
const longestName = 253;
const longestScheme = 64;
/** As long as Kubernetes has names with a prefix and values of labels; an amount is no longer than such a value. */
const longestKey = 317;
const longestValue = 63;
/** Of a longer one not even a part is kept: that would hold the whole in memory. */
const longestProviderId = 1024;
/** Ranges of addresses: one of each family. */
export const ofCidrs = { count: 2, length: 64 };

function pooled<Value>(pool: Map<string, Value>, key: string, value: Value): Value {
  const known = pool.get(key);
  if (known !== undefined) return known;
  if (pool.size >= mostPooled) pool.clear();
  pool.set(key, value);
  return value;
}

export function createPool(): Pool {
  const texts = new Map<string, string>();
  const lists = new Map<string, Resources>();
  return {
    text: (given) => pooled(texts, given, given),
    resources: (given) => pooled(lists, JSON.stringify(given), given),
  };
}

/** Of what may be anything at all. */
export function textsIn(given: unknown, most: { count: number; length: number }): string[] {
  const all: unknown[] = Array.isArray(given) ? given : [];
  return all
    .filter((one) => typeof one === 'string')
    .filter(({ length }) => length <= most.length)
    .slice(0, most.count);
}

function pairsIn(given: unknown, most: number): [string, string][] {
  const all = Object.entries(typeof given === 'object' && given !== null ? given : {});
  return all
    .filter((pair): pair is [string, string] => typeof pair[1] === 'string')
    .filter(([key, value]) => key.length <= longestKey && value.length <= longestValue)
    .slice(0, most);
}

/** The scheme of `aws:///eu-1a/i-1`, which cloud providers put before the id of the machine. */
function providerOf(providerID: unknown): string | undefined {
  if (typeof providerID !== 'string' || providerID.length > longestProviderId) return undefined;
  return providerID.slice(0, longestScheme).split(':')[0] || undefined;
}

function hasReady(conditions: unknown): boolean {
  const all: ({ readonly type?: unknown; readonly status?: unknown } | null)[] = Array.isArray(conditions)
    ? conditions
    : [];
  return all.some((one) => one?.type === 'Ready' && one.status === 'True');
}

/** @throws TypeError for what is no object of Kubernetes at all */
export function countNode({ metadata, spec, status }: StoredObject<NodeObject>, pool: Pool): CountedNode {
  const provider = providerOf(spec?.providerID);
  const resources = (given: unknown) => pool.resources(Object.fromEntries(pairsIn(given, mostResources)));
  return {
    name: String(metadata.name).slice(0, longestName),
    isReady: hasReady(status?.conditions),
    isCordoned: spec?.unschedulable === true,
    capacity: resources(status?.capacity),
    allocatable: resources(status?.allocatable),
    podCIDRs: textsIn(spec?.podCIDRs, ofCidrs),
    provider: provider === undefined ? undefined : pool.text(provider),
    labels: pairsIn(metadata.labels, mostLabels)
      .map(([key, value]) => pool.text(`${key}=${value}`))
      .toSorted(),
  };
}
