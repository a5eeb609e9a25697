import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  aggregateSubjects,
  approved,
  draft,
  foldRecord,
  type StoredEvent,
} from '@rollcall/shared/events';
import { type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { aDecision, clusterId, heartbeat, nowMs, stored } from '../tests/builders.ts';
import { collectUnproven } from './collect-unattributed-changes.ts';

const cluster = (name: string, { spec = {}, labels = {} }: { spec?: object; labels?: object }) =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name, uid: `uid-${name}`, generation: 2, resourceVersion: '1', labels },
    spec: { namespacePolicy: 'Delete', ...spec },
  }) as unknown as KubeObject;
const request = {
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ClusterRegistrationRequest',
  metadata: { name: 'newer', uid: 'uid-request', resourceVersion: '1' },
  spec: { decision: { verdict: 'Approve', keyFingerprint: 'k', by: 'anna' } },
} as unknown as KubeObject;

/** One cluster is in, and of `newer` only a newer version knows what was decided. */
async function collect(clusters: readonly KubeObject[], requests: readonly KubeObject[] = []) {
  const on = { aggregate: { kind: 'cluster', id: clusterId }, head: undefined } as const;
  const event = draft(approved, on, { reason: 'R', message: 'm', section: aDecision() });
  const events: StoredEvent[] = [stored(event, 1)];
  const listed = new Map<Resource, readonly KubeObject[]>([
    [resources.managedClusters, clusters],
    [resources.clusterRegistrationRequests, requests],
  ]);
  const words = await collectUnproven({
    log: {
      async read(aggregate: AggregateId) {
        aggregateSubjects(aggregate);
        if (aggregate.id === 'newer') throw new RollcallError('EVENT_VERSION_UNKNOWN', 'of a newer version');
        return foldRecord(
          aggregate,
          events.filter(({ id }) => id === aggregate.id),
        );
      },
      readAll: async () => [],
    },
    client: { list: async (resource: Resource) => (listed.get(resource) ?? []) as never },
    kinds: [],
    heartbeat,
    leaveWaitMs: 1000,
    nowMs: () => nowMs,
  });
  return words.map(({ object, word }) => `${object} ${word}`);
}

const known = cluster('alpha', { spec: { clusterId, access: 'Namespace' } });
const ofKnown = 'managedclusters/alpha access:Namespace';

test('an object that names no cluster keeps nothing else from being looked at', async () => {
  const nobody = cluster('odd', { labels: { 'rollcall.dev/cluster-id': 'No_Id.' } });
  expect(await collect([nobody, known])).toEqual([ofKnown]);
});

test('what an object says that names no cluster yet is listed as well: it may name one later', async () => {
  const operation = { id: 'w1', verb: 'ReplaceKey', keyFingerprint: 'k', by: 'anna' };
  const later = cluster('later', { spec: { operation, access: 'Namespace' } });
  expect(await collect([later, known])).toEqual([
    'managedclusters/later operation:uid-later/w1',
    'managedclusters/later access:Namespace',
    ofKnown,
  ]);
});

test('of a cluster that only a newer version can read all that takes a right is listed', async () => {
  const newer = cluster('beta', { spec: { clusterId: 'newer', access: 'None', hubAcceptsClient: true } });
  const found = await collect([newer, known], [request]);
  expect(found).toContain(ofKnown);
  expect(found).toContain('managedclusters/beta accepts:true');
  expect(found).toContainEqual(expect.stringMatching(/^clusterregistrationrequests\/newer decision:/));
});
