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

type Thief = 'agent-host' | 'rbac-provisioner' | 'registrar';

async function say(
  thief: Thief,
  { name, type, version = 9, body = '{}' }: { name: string; type: string; version?: number; body?: string },
): Promise<void> {
  const nc = await world.hub.connectAs(thief);
  const all = headers();
  all.set('ce-type', `dev.rollcall.cluster.${type}.v${version}`);
  all.set('ce-source', `/rollcall/${thief}`);
  all.set('ce-time', new Date().toISOString());
  all.set('ce-id', `forged-${type}`);
  const subject = `rollcall.events.cluster.${clusterIdOf(name)}.${type}`;
  const answer = await nc.request(subject, body, { headers: all, timeout: 5000 });
  expect(answer.json()).toMatchObject({ stream: 'EVENTS' });
}

async function member(name: string): Promise<string> {
  const { key } = await world.request(name, { tokenId });
  await world.clusterIs(name, ({ decision }) => decision?.verdict === 'approved');
  await world.showCluster(name);
  return key;
}

async function askFor(verb: 'Revoke' | 'Ban', name: string, key: string): Promise<void> {
  await anna.mergePatch<KubeObject>(resources.managedClusters, name, {
    spec: { operation: { by: person, id: 'w1', verb, keyFingerprint: keyFingerprint(key) } },
  });
}

/** Not by the record: whoever reads that was held up as well. */
const count = async (name: string, type: string) =>
  (await Array.fromAsync(world.registrar.scan({ filter: `cluster.${clusterIdOf(name)}.${type}` }))).length;

test.each([
  { thief: 'agent-host', type: 'hosted' },
  { thief: 'rbac-provisioner', type: 'provisioned' },
] as const)(
  'a member is put out by a person, whatever version a stolen $thief writes',
  async ({ thief, type }) => {
    const name = `bad-${type}`;
    const key = await member(name);
    await say(thief, { name, type });
    await askFor('Revoke', name, key);
    await expect.poll(() => count(name, 'revoked'), { timeout: 10_000 }).toBe(1);
  },
  60_000,
);

/** All that a registrar writes about a cluster. */
const ofRegistrar = ['requested', 'admitted', 'rotated', 'pinned', 'refused', 'left', 'cleaned', 'flooded'];

/** That the member was refused, in words that everybody can read. */
async function refusal(name: string): Promise<string> {
  const { identity } = await world.cluster(name);
  const refused = { code: 'NAME_TAKEN', message: 'm' };
  const section = { ...identity, state: 'refused', refusal: refused };
  const epoch = world.hub.hub.epoch;
  return JSON.stringify({ epoch, correlation: 'c', reason: 'NameTaken', message: 'm', section });
}

// With those above five within a minute: one more would be a bulk change, and wait.
test.each([
  { verb: 'Revoke', what: 'a version that nobody knows', version: 9 },
  { verb: 'Ban', what: 'garbage', version: 1 },
  { verb: 'Revoke', what: 'a refusal', version: undefined },
] as const)(
  '$verb counts, whatever a stolen registrar has written over what it said: $what',
  async ({ verb, what, version }) => {
    const name = `${verb}-${what.replaceAll(' ', '-')}`.toLowerCase();
    const key = await member(name);
    if (version === undefined)
      await say('registrar', { name, type: 'refused', version: 1, body: await refusal(name) });
    else for (const type of ofRegistrar) await say('registrar', { name, type, version });
    await askFor(verb, name, key);
    await expect.poll(() => count(name, 'revoked'), { timeout: 10_000 }).toBe(1);
  },
  60_000,
);
