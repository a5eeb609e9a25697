import { managedClusterSet } from '@rollcall/shared/resources';
import { z } from 'zod';
import {
  type ForeignObject,
  type ForeignSystem,
  isHttpsAddress,
  isUid,
  readTaints,
  taintSettings,
} from './foreign-cluster.ts';
import type { SetSelector } from './foreign-set.ts';
import { readItems } from './read-items.ts';

const setLabel = 'cluster.open-cluster-management.io/clusterset';
/** There it is the set of everybody in no other one; so it is here, without a label. */
const defaultSet = 'default';
const usualLeaseSeconds = 60;

const configSchema = z.looseObject({ url: z.string(), caBundle: z.string().nullish() });

function readConfigs(given: unknown) {
  const { items, notes } = readItems(given, 'client config', configSchema);
  const usable = items.filter(({ url }) => isHttpsAddress(url));
  const others = items.filter((config) => !usable.includes(config));
  return {
    clientConfigs: usable.map(({ url, caBundle }) => ({ url, ...(caBundle ? { caBundle } : {}) })),
    notes: [
      ...others.map(({ url }) => `client config "${url}" is not taken over: it is no https address`),
      ...notes,
    ],
  };
}

const claimSchema = z.looseObject({ name: z.string(), value: z.string() });

function claimOf({ status }: ForeignObject, name: string): string | undefined {
  const { items } = readItems(status['clusterClaims'], 'claim', claimSchema);
  return items.find((claim) => claim.name === name)?.value;
}

const clusterSelectorSchema = z.looseObject({
  selectorType: z.string().default('ExclusiveClusterSetLabel'),
  labelSelector: z.unknown().optional(),
});
/** The second is what it was called before. */
const exclusiveTypes = new Set(['ExclusiveClusterSetLabel', 'LegacyClusterSetLabel']);

function readSelector({ spec }: ForeignObject): SetSelector | string {
  const { data } = clusterSelectorSchema.safeParse(spec['clusterSelector'] ?? {});
  if (data && exclusiveTypes.has(data.selectorType)) return { type: 'ExclusiveLabel' };
  if (data?.selectorType !== 'LabelSelector') return 'there is no selector of its type here';
  const { labelSelector } = data;
  // There it has no cluster then; an empty one here has all of them.
  if (labelSelector === undefined || labelSelector === null)
    return 'it selects by labels and has no labelSelector';
  const ours = managedClusterSet.spec.safeParse({ selector: { type: 'LabelSelector', labelSelector } });
  return ours.data?.selector ?? 'its labelSelector is none that a set has here';
}

/** ManagedCluster and ManagedClusterSet of Open Cluster Management. */
export const ocm: ForeignSystem = {
  title: 'Open Cluster Management',
  group: 'cluster.open-cluster-management.io',
  version: 'v1',
  plural: 'managedclusters',
  kind: 'ManagedCluster',
  namespaced: false,
  ownDomains: ['open-cluster-management.io'],
  sets: {
    version: 'v1beta2',
    plural: 'managedclustersets',
    kind: 'ManagedClusterSet',
    fields: ['clusterSelector'],
    read: readSelector,
  },
  fields: ['hubAcceptsClient', 'leaseDurationSeconds', 'managedClusterClientConfigs', 'taints'],
  read(object) {
    const { metadata, spec } = object;
    const { name } = metadata;
    const uid = claimOf(object, 'id.k8s.io');
    const { [setLabel]: set } = metadata.labels;
    const { clientConfigs, notes: ofConfigs } = readConfigs(spec['managedClusterClientConfigs']);
    const { taints, notes: ofTaints } = readTaints(spec['taints'], 'open-cluster-management.io');
    const lease = spec['leaseDurationSeconds'];
    return {
      name,
      id: isUid(uid) ? { clusterId: uid } : { clientId: name },
      clusterSet: set === defaultSet || set === '' ? undefined : set,
      settings: {
        ...(clientConfigs.length === 0 ? {} : { clientConfigs }),
        ...taintSettings(taints),
      },
      notes: [
        ...(isUid(uid) ? [] : [`it has no claim id.k8s.io: its agent is known by client id "${name}"`]),
        ...(spec['hubAcceptsClient'] === false ? ['it is not accepted there'] : []),
        ...(lease === undefined || lease === usualLeaseSeconds
          ? []
          : ['spec.leaseDurationSeconds is not taken over: set spec.heartbeat']),
        ...ofConfigs,
        ...ofTaints,
      ],
    };
  },
};
