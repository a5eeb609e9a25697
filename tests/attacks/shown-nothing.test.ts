import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApproverWorld, startWorld } from '../../services/approver/tests/approver-world.ts';
import { bindRole } from '../harness/control-plane.ts';

/**
 * Of a cluster that a person has once operated on, nothing that people asked for counted while the projector did not show the
 * approver's last word: a stolen projector that shows nothing kept a member in.
 */
const person = 'anna@example.com';
let world: ApproverWorld;
let anna: KubeClient;
let tokenId: string;
beforeAll(async () => {
  world = await startWorld();
  await bindRole(world.plane.admin, person, 'rollcall-admin');
  anna = world.plane.clientFor(person);
  await world.startApprover();
  ({ tokenId } = await world.makeToken('t1'));
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  await world.makePolicy('valid', [{ name: 'valid-token', when: 'token.valid', effect: 'Approve' }]);
});
afterAll(async () => {
  anna?.close();
  await world?.[Symbol.asyncDispose]();
});

const operate = (name: string, id: string, verb: string, key: string) =>
  anna.mergePatch<KubeObject>(resources.managedClusters, name, {
    spec: { operation: { by: person, id, verb, keyFingerprint: keyFingerprint(key) } },
  });

test('a member is put out by a person, whatever the projector shows or does not show', async () => {
  const { key } = await world.request('bad', { tokenId });
  await world.clusterIs('bad', ({ decision }) => decision?.verdict === 'approved');
  await world.showCluster('bad');
  await operate('bad', 'w1', 'RotateKey', key);
  await world.clusterIs('bad', ({ decision }) => decision?.operations?.includes('w1') === true);
  await operate('bad', 'w2', 'Revoke', key);
  await expect
    .poll(async () => (await world.cluster('bad')).decision?.verdict, { timeout: 20_000 })
    .toBe('revoked');
}, 60_000);
