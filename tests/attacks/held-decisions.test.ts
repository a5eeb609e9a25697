import { headers } from '@nats-io/transport-node';
import { clusterIdOf } from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApproverWorld, startWorld } from '../../services/approver/tests/approver-world.ts';
import { bindRole } from '../harness/control-plane.ts';

/**
 * One event of a version that nobody knows, on a subject of its own, and a stolen agent host or provisioner kept everybody from
 * deciding about that cluster, for good: not even a revocation counted.
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

async function sayUnknown(
  thief: 'agent-host' | 'rbac-provisioner',
  name: string,
  type: string,
): Promise<void> {
  const nc = await world.hub.connectAs(thief);
  const all = headers();
  all.set('ce-type', `dev.rollcall.cluster.${type}.v9`);
  all.set('ce-source', `/rollcall/${thief}`);
  const subject = `rollcall.events.cluster.${clusterIdOf(name)}.${type}`;
  const answer = await nc.request(subject, '{}', { headers: all, timeout: 5000 });
  expect(answer.json()).toMatchObject({ stream: 'EVENTS' });
}

test.each([
  { thief: 'agent-host', type: 'hosted' },
  { thief: 'rbac-provisioner', type: 'provisioned' },
] as const)(
  'a member is put out by a person, whatever version a stolen $thief writes',
  async ({ thief, type }) => {
    const name = `bad-${type}`;
    const { key } = await world.request(name, { tokenId });
    await world.clusterIs(name, ({ decision }) => decision?.verdict === 'approved');
    await world.showCluster(name);
    await sayUnknown(thief, name, type);
    await anna.mergePatch<KubeObject>(resources.managedClusters, name, {
      spec: { operation: { by: person, id: 'w1', verb: 'Revoke', keyFingerprint: keyFingerprint(key) } },
    });
    // Not by the record: whoever reads that was held up as well.
    const filter = `cluster.${clusterIdOf(name)}.revoked`;
    const revocations = async () => (await Array.fromAsync(world.registrar.scan({ filter }))).length;
    await expect.poll(revocations, { timeout: 10_000 }).toBe(1);
  },
  60_000,
);
