import { type ForeignSystem, isUid } from './foreign-cluster.ts';

/** Cluster of Rancher Fleet, many in one namespace. */
export const fleet: ForeignSystem = {
  title: 'Fleet',
  group: 'fleet.cattle.io',
  version: 'v1alpha1',
  plural: 'clusters',
  kind: 'Cluster',
  namespaced: true,
  ownDomains: ['cattle.io'],
  fields: ['clientID', 'kubeConfigSecret', 'kubeConfigSecretNamespace'],
  read({ metadata, spec }) {
    const { name } = metadata;
    const { clientID: given, kubeConfigSecret: secret } = spec;
    const id = typeof given === 'string' && given !== '' ? given : undefined;
    return {
      name,
      // An agent that was given no id took the UID of kube-system, as ours does.
      id: isUid(id) ? { clusterId: id } : { clientId: id ?? name },
      settings: {},
      notes: [
        ...(id === undefined ? [`it has no spec.clientID: its agent is known by client id "${name}"`] : []),
        ...(typeof secret === 'string' && secret !== ''
          ? [`its kubeconfig Secret "${secret}" is not read: here its agent registers`]
          : []),
      ],
    };
  },
};
