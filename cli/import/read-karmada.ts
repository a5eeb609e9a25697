import { z } from 'zod';
import { type ForeignSystem, isHttpsAddress, isUid, readTaints, taintSettings } from './foreign-cluster.ts';
import { readItems } from './read-items.ts';

const cordonTaint = 'cluster.karmada.io/unschedulable';

/** Where a cluster is: there fields, here labels. */
const places = ['provider', 'region', 'zone'] as const;

/** Cluster of Karmada. */
export const karmada: ForeignSystem = {
  title: 'Karmada',
  group: 'cluster.karmada.io',
  version: 'v1alpha1',
  plural: 'clusters',
  kind: 'Cluster',
  namespaced: false,
  ownDomains: ['karmada.io'],
  fields: ['id', 'syncMode', 'apiEndpoint', 'taints', 'zones', ...places],
  read({ metadata, spec }) {
    const { name } = metadata;
    const { id, apiEndpoint, taints: given } = spec;
    const { items: zones, notes: ofZones } = readItems(spec['zones'], 'zone', z.string());
    const place: Record<string, unknown> = { zone: zones.length === 1 ? zones[0] : undefined, ...spec };
    const labels = places.flatMap((key) => {
      const value = place[key];
      return typeof value === 'string' && value !== '' ? [[key, value]] : [];
    });
    const { taints, notes } = readTaints(given, 'karmada.io');
    const isCordoned =
      Array.isArray(given) && given.some((taint: { key?: unknown } | null) => taint?.key === cordonTaint);
    const endpoint = typeof apiEndpoint === 'string' ? apiEndpoint : '';
    return {
      name,
      id: isUid(id) ? { clusterId: id } : { clientId: name },
      labels: Object.fromEntries(labels) as Record<string, string>,
      settings: {
        ...(isHttpsAddress(endpoint) ? { clientConfigs: [{ url: endpoint }] } : {}),
        ...(isCordoned ? { unschedulable: true } : {}),
        ...taintSettings(taints),
      },
      notes: [
        ...(isUid(id) ? [] : [`it has no spec.id: its agent is known by client id "${name}"`]),
        ...(spec['syncMode'] === 'Push' ? ['it is in push mode there: here its agent registers'] : []),
        ...(endpoint === '' || isHttpsAddress(endpoint)
          ? []
          : [`spec.apiEndpoint "${endpoint}" is not taken over: it is no https address`]),
        ...(zones.length > 1 ? ['spec.zones is not taken over: a label has one value'] : []),
        ...ofZones,
        ...notes,
      ],
    };
  },
};
