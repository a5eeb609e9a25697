import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { isDoneAlready, keyFor, writeOperation } from './cluster-operation.ts';

/** Of the cluster a restored hub knows nothing but the ban: its object shows no key, and nobody asks. */
const banned = {
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ManagedCluster',
  metadata: { name: 'blue', uid: 'u1', resourceVersion: '1' },
  spec: { clusterId: 'c-1', clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete' },
} as const;
const nobodyAsks = { get: async () => undefined } as unknown as KubeClient;

test('a ban of a cluster of which no key is known can be taken back', async () => {
  expect(await keyFor(nobodyAsks, 'unban', { name: 'blue', cluster: banned })).toBeUndefined();
  await expect(keyFor(nobodyAsks, 'ban', { name: 'blue', cluster: banned })).rejects.toMatchObject({
    code: 'USAGE',
  });
});

test('an operation without a key does not keep the key of the one before it', async () => {
  const written: unknown[] = [];
  const client = {
    async mergePatch(_resource: unknown, _name: string, patch: KubeObject) {
      written.push(patch);
      return { ...banned, spec: { ...banned.spec, operation: { id: 'w1', verb: 'Unban', by: 'anna' } } };
    },
  } as unknown as KubeClient;
  const operation = { id: 'w1', verb: 'Unban', keyFingerprint: undefined, reason: null, by: 'anna' };
  await writeOperation(client, 'blue', { operation, dryRun: false });
  expect(written).toEqual([
    { spec: { operation: { id: 'w1', verb: 'Unban', keyFingerprint: null, reason: null, by: 'anna' } } },
  ]);
});

const accepted = (reason: string) =>
  ({ type: 'Accepted', status: 'False', reason, message: 'm', lastTransitionTime: '' }) as const;

test('a cluster that waits for a person is not revoked already: it can be let in at any time', () => {
  const waiting = { ...banned, status: { conditions: [accepted('NoRuleMatched')] } };
  expect(() => isDoneAlready('revoke', { name: 'blue', cluster: waiting })).toThrow(
    expect.objectContaining({ code: 'USAGE' }),
  );
  const status = { keyFingerprint: 'a-b', conditions: [accepted('PersonRevoked')] };
  expect(isDoneAlready('revoke', { name: 'blue', cluster: { ...banned, status } })).toBe(true);
  const out = { ...banned, status: { conditions: [accepted('PersonBanned')] } };
  expect(isDoneAlready('ban', { name: 'blue', cluster: out })).toBe(true);
  expect(isDoneAlready('ban', { name: 'blue', cluster: waiting })).toBe(false);
});
