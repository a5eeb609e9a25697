import { type ForeignSystem, readTaints, taintSettings } from './foreign-cluster.ts';

const nameLabel = 'clusters.clusternet.io/cluster-name';

/** ManagedCluster of Clusternet, each in a namespace of its own. */
export const clusternet: ForeignSystem = {
  title: 'Clusternet',
  group: 'clusters.clusternet.io',
  version: 'v1beta1',
  plural: 'managedclusters',
  kind: 'ManagedCluster',
  namespaced: true,
  ownDomains: ['clusternet.io'],
  fields: ['clusterId', 'clusterType', 'syncMode', 'taints'],
  read({ metadata, spec }) {
    const { clusterId: id, clusterType, syncMode } = spec;
    const { [nameLabel]: name = metadata.name } = metadata.labels;
    const clientId = typeof id === 'string' && id !== '' ? id : name;
    const { taints, notes } = readTaints(spec['taints'], 'clusternet.io');
    return {
      name,
      // There it is the UID of a Lease in the member, so the agent has to be given it.
      id: { clientId },
      settings: {
        ...(clusterType === 'EdgeCluster' ? { clusterType: 'Edge' as const } : {}),
        ...taintSettings(taints),
      },
      notes: [
        ...(syncMode === 'Push' || syncMode === 'Dual'
          ? [`its sync mode is ${syncMode} there: here its agent registers`]
          : []),
        ...notes,
      ],
    };
  },
};
