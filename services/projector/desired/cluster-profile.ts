import type { HubApi } from '@rollcall/shared/hub';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import {
  type AccessProvider,
  clusterManager,
  type ClusterProfile,
  type ClusterProperty,
  clusterSetLabel,
  type Condition,
  labels,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import { conditionList } from './condition-list.ts';
import { setOfOthers } from './desired-set.ts';
import { hubTime } from './hub-time.ts';

type ProfileStatus = NonNullable<ClusterProfile['status']>;

/** A ClusterProfile as it should be, whatever namespace it is in. */
export interface DesiredProfile {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: ClusterProfile['spec'];
  readonly status: ProfileStatus;
}

/** As the kind has it; it refuses a whole status for one that is longer. */
const longest = { name: 253, value: 1024 } as const;

const conditionOf = ({ status }: ManagedCluster, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

const setOf = ({ metadata }: ManagedCluster): string => metadata.labels?.[labels.clusterSet] || setOfOthers;

/** Whether it is in: who was shut out afterwards has been here, and is no member. */
function joined(cluster: ManagedCluster): Condition | undefined {
  const [has, accepted] = [conditionOf(cluster, 'Joined'), conditionOf(cluster, 'Accepted')];
  return accepted?.status === 'True' ? has : accepted;
}

function conditionsOf(cluster: ManagedCluster, before: readonly Condition[] | undefined): Condition[] {
  const found = [
    ['ControlPlaneHealthy', conditionOf(cluster, 'MemberHealthy')],
    ['Joined', joined(cluster)],
  ] as const;
  const judged = found.map(([type, condition]) => ({
    type,
    status: condition?.status ?? ('Unknown' as const),
    reason: condition?.reason ?? 'NotReported',
    message: condition?.message ?? '',
    atMs: Date.parse(condition?.lastTransitionTime ?? cluster.metadata.creationTimestamp ?? '1970-01-01'),
  }));
  return conditionList(judged, before ?? [], undefined);
}

/** What the member says of itself, as it says it (About API, KEP-2149), and what the hub knows, under names of its own. */
function propertiesOf(cluster: ManagedCluster): Map<string, string> {
  const { metadata, status = {} } = cluster;
  const unlessSaid = {
    'cluster.clusterset.k8s.io': metadata.name,
    'clusterset.k8s.io': setOf(cluster),
  };
  const said = (status.clusterClaims ?? []).map(({ name, value }) => [name, value] as const);
  const known = {
    'platform.rollcall.dev': status.platform,
    'agent-version.rollcall.dev': status.agentVersion,
    'nodes.rollcall.dev': status.nodes?.total?.toString(),
    'cpu.rollcall.dev': status.capacity?.['cpu'],
    'memory.rollcall.dev': status.capacity?.['memory'],
  };
  const all = [...Object.entries(unlessSaid), ...said, ...Object.entries(known)].flatMap(([name, value]) =>
    value && name.length <= longest.name && value.length <= longest.value ? [[name, value] as const] : [],
  );
  return new Map(all.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** A property that says the same was observed when it was first said: its time alone is no reason to write. */
function withTimes(
  properties: ReadonlyMap<string, string>,
  before: readonly ClusterProperty[],
  nowMs: number,
): ClusterProperty[] {
  const shown = new Map(before.map((property) => [property.name, property]));
  return [...properties].map(([name, value]) => {
    const same = shown.get(name)?.value === value ? shown.get(name)?.lastObservedTime : undefined;
    return { name, value, lastObservedTime: same ?? hubTime(nowMs) };
  });
}

/** Whether its owner lets anybody of the hub in, and nobody here has shut it: a way that leads nowhere is not shown. */
const isOpen = (cluster: ManagedCluster): boolean =>
  joined(cluster)?.status === 'True' &&
  cluster.status?.memberAccess !== undefined &&
  cluster.spec.memberAccess !== 'Denied';

/** By way of the hub (`docs/member-access.md`): whoever goes it does so with a token of the hub, and the hub's RBAC decides. */
function wayTo(name: string, { server, caPem }: HubApi): AccessProvider {
  const path = `/apis/proxy.rollcall.dev/v1alpha1/managedclusters/${name}/proxy`;
  return {
    name: clusterManager.name,
    cluster: {
      server: `${server.replace(/\/$/, '')}${path}`,
      ...(caPem === undefined ? {} : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') }),
    },
  };
}

/**
 * The ClusterProfile of a cluster: from its first heartbeat on, for as long as its ManagedCluster is there.
 * @param shown - the profile as the API server has it, for the times in it
 * @param known.hubApi - undefined where the hub has no member gateway
 * @param known.nowMs - hub time: when a property was first seen as it is
 */
export function clusterProfileOf(
  cluster: ManagedCluster,
  shown: StoredObject<ClusterProfile> | undefined,
  { hubApi, nowMs }: { readonly hubApi: HubApi | undefined; readonly nowMs: number },
): DesiredProfile | undefined {
  if (conditionOf(cluster, 'Joined')?.status !== 'True') return undefined;
  const { metadata, status } = cluster;
  const { conditions, properties = [] } = shown?.status ?? {};
  const version = status?.kubernetesVersion;
  return {
    labels: {
      ...metadata.labels,
      [labels.createdBy]: 'projector',
      [clusterManager.label]: clusterManager.name,
      [clusterSetLabel]: setOf(cluster),
    },
    spec: { displayName: metadata.name, clusterManager: { name: clusterManager.name } },
    status: {
      conditions: conditionsOf(cluster, conditions),
      ...(version === undefined ? {} : { version: { kubernetes: version } }),
      properties: withTimes(propertiesOf(cluster), properties, nowMs),
      ...(hubApi && isOpen(cluster) ? { accessProviders: [wayTo(metadata.name, hubApi)] } : {}),
    },
  };
}
