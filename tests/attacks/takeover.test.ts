import { randomUUID } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { resources } from '@rollcall/shared/kubernetes';
import { createNkey, keyFingerprint, signMessage } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import {
  type AskedHub,
  connectWithCredentials,
  connectWithKey,
  connectWithToken,
  freshId,
} from '../harness/raw-agent.ts';
import { aJoin, joinWith } from '../harness/join.ts';
import { admitMember, asAsked, recordOn } from './member-of-whole-hub.ts';

/** A whole hub with the policy that lets every valid token in: nothing but the identity of a cluster stands in the way. */
let hub: TestEmbeddedHub;
let asked: AskedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  asked = asAsked(hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

const record = (id: string) => recordOn(hub, id);
const headOf = async (id: string) => (await record(id)).head;

const aMember = () => admitMember(hub);

/** The attacker: a key of its own, and a valid token that somebody lost. */
async function anAttacker() {
  const token = await hub.createToken();
  return { token, agent: await connectWithToken(asked, token) };
}

/** What the server says to a publication that it does not allow. */
async function serverRefuses(nc: NatsConnection, subject: string, data: string): Promise<string> {
  const status = nc.status();
  nc.publish(subject, data);
  for await (const event of status) if (event.type === 'error') return event.error.message;
  return 'the connection ended';
}

async function untilHeld(clusterId: string, key: string): Promise<void> {
  await until('the request is held', async () => {
    const { decision } = await record(clusterId);
    return decision?.key === key && decision.reason === 'KeyChanged';
  });
}

async function approveReplacing(clusterId: string, key: string): Promise<void> {
  await until('the request object shows the key', async () => {
    const found = await hub.request(clusterId);
    return found?.spec.keyFingerprint === keyFingerprint(key) && found.status?.result === 'Held';
  });
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, clusterId, {
    spec: { decision: { verdict: 'Approve' } },
  });
}

test('a known id, its name and a valid token, with another key: held with both keys, and the owner is untouched', async () => {
  const owner = await aMember();
  const { token, agent } = await anAttacker();
  const { clusterId, clusterName } = owner;
  const before = await record(clusterId);
  const answer = await joinWith(agent, token, aJoin(token, { clusterId, clusterName: 'mine-now' }));
  expect(answer.result).toMatchObject({ kind: 'waiting' });
  await untilHeld(clusterId, agent.key.publicKey);

  const after = await record(clusterId);
  expect(after.decision).toMatchObject({
    verdict: 'held',
    approvedKey: owner.agent.key.publicKey,
    clusterName,
  });
  expect(after.identity).toMatchObject({ admittedKey: owner.agent.key.publicKey, clusterName });
  expect(after.decision?.revokedKeys).toEqual([]);
  expect(after.access).toEqual(before.access);
  const request = await until('the request shows it', async () => {
    const found = await hub.request(clusterId);
    return found?.status?.reason === 'KeyChanged' && found;
  });
  expect(request.spec.keyFingerprint).toBe(keyFingerprint(agent.key.publicKey));
  for (const key of [owner.agent.key, agent.key])
    expect(request.status?.message).toContain(keyFingerprint(key.publicKey));
  expect(conditionOf(await hub.cluster(clusterName), 'CredentialsValid')?.status).toBe('True');
  // The owner renews as if nothing were; the attacker asks again and waits.
  expect((await owner.agent.request('renew', { clusterId })).result.kind).toBe('admitted');
  const again = await joinWith(agent, token, aJoin(token, { clusterId }));
  expect(again.result).toMatchObject({ kind: 'waiting', reason: 'KeyChanged' });
  // And the place in the queue is taken: nobody else's key slips under the eyes of the person who decides.
  const third = await anAttacker();
  const refused = await joinWith(third.agent, third.token, aJoin(third.token, { clusterId }));
  expect(refused.result).toMatchObject({ kind: 'refused', code: 'REQUEST_OPEN' });
  await Promise.all([owner.agent, agent, third.agent].map((one) => one[Symbol.asyncDispose]()));
});

test('with waiting credentials the attacker reaches neither the heartbeats nor the answers of the owner', async () => {
  const owner = await aMember();
  const { token, agent } = await anAttacker();
  const { result } = await joinWith(agent, token, aJoin(token, { clusterId: owner.clusterId }));
  if (result.kind !== 'waiting' || result.credentials === undefined) throw new Error('not waiting');
  await until('the request is held', async () => {
    return (await hub.request(owner.clusterId))?.status?.reason === 'KeyChanged';
  });
  await using waiting = await connectWithCredentials(asked, agent.key, {
    jwt: result.credentials,
    seed: agent.key.seed,
  });
  const before = await headOf(owner.clusterId);
  for (const subject of [
    `rollcall.heartbeat.${owner.clusterId}`,
    `rollcall.request.${owner.agent.key.publicKey}.renew`,
    `rollcall.request.${agent.key.publicKey}.renew`,
    `rollcall.request.${agent.key.publicKey}.facts`,
  ])
    expect(await serverRefuses(waiting.nc, subject, '{}')).toMatch(/ermissions/);
  const heard = new Promise((resolve) => {
    waiting.nc.subscribe(`rollcall.reply.${owner.agent.key.publicKey}.>`, {
      callback: (error, message) => resolve(error?.message ?? message.subject),
    });
  });
  expect(await heard).toMatch(/ermissions/);
  expect(await headOf(owner.clusterId)).toEqual(before);
  await Promise.all([owner.agent, agent].map((one) => one[Symbol.asyncDispose]()));
});

test.each([
  { name: 'another key', signers: () => [createNkey('user')] },
  { name: 'nobody', signers: () => [] },
])('a request signed by $name is refused and changes nothing', async ({ signers }) => {
  const owner = await aMember();
  const { token, agent } = await anAttacker();
  const before = await headOf(owner.clusterId);
  const news = agent.nextNews();
  void agent.request('join', aJoin(token, { clusterId: owner.clusterId }), { signers: signers() });
  expect((await news).result).toMatchObject({ kind: 'refused', code: 'PROOF_INVALID' });
  expect(await headOf(owner.clusterId)).toEqual(before);
  await Promise.all([owner.agent, agent].map((one) => one[Symbol.asyncDispose]()));
});

test.each(['renew', 'facts'] as const)(
  'a member that asks %s for another cluster is refused',
  async (verb) => {
    const [victim, member] = await Promise.all([aMember(), aMember()]);
    const before = await headOf(victim.clusterId);
    const facts = verb === 'facts' ? { facts: { kubernetesVersion: 'v9.9.9' } } : {};
    const answer = await member.agent.request(verb, { clusterId: victim.clusterId, ...facts });
    expect(answer.result).toMatchObject({ kind: 'refused', code: 'TOKEN_UNKNOWN' });
    expect(await headOf(victim.clusterId)).toEqual(before);
    await Promise.all([victim.agent, member.agent].map((one) => one[Symbol.asyncDispose]()));
  },
);

test('a key that was replaced is cut and stays out; the one in its place is the cluster', async () => {
  const owner = await aMember();
  const { token, agent } = await anAttacker();
  const { clusterId } = owner;
  await joinWith(agent, token, aJoin(token, { clusterId }));
  await untilHeld(clusterId, agent.key.publicKey);
  const news = agent.nextNews();
  await approveReplacing(clusterId, agent.key.publicKey);
  // The hold was news as well.
  for (let next = await news; next.result.kind !== 'admitted';) next = await agent.nextNews();
  await owner.agent.nc.closed();
  const { decision, identity } = await until('the new key is in', async () => {
    const found = await record(clusterId);
    return found.identity?.admittedKey === agent.key.publicKey && found;
  });
  expect(decision).toMatchObject({ verdict: 'approved', approvedKey: agent.key.publicKey });
  expect(decision?.revokedKeys.map(({ key }) => key)).toEqual([owner.agent.key.publicKey]);
  expect(identity?.clusterName).toBe(owner.clusterName);
  await expect(connectWithKey(asked, owner.agent.key, clusterId)).rejects.toThrow(/uthorization/);
  await agent[Symbol.asyncDispose]();
});

test('of two keys that race for one cluster one may wait', async () => {
  const owner = await aMember();
  const { clusterId } = owner;
  const racers = await Promise.all([anAttacker(), anAttacker()]);
  const answers = await Promise.all(
    racers.map(({ token, agent }) => joinWith(agent, token, aJoin(token, { clusterId }))),
  );
  const outcomes = answers.map(({ result }) => (result.kind === 'refused' ? result.code : result.kind));
  expect(outcomes.toSorted()).toEqual(['REQUEST_OPEN', 'waiting']);
  expect((await record(clusterId)).decision?.approvedKey).toBe(owner.agent.key.publicKey);
  await Promise.all(
    [owner.agent, ...racers.map(({ agent }) => agent)].map((one) => one[Symbol.asyncDispose]()),
  );
});

test('a captured request is worth nothing: to another key, with another time, at another time, at another hub', async () => {
  const token = await hub.createToken({ uses: 'unlimited' });
  await using victim = await connectWithToken(asked, token);
  await using thief = await connectWithToken(asked, token);
  const body = aJoin(token);
  const content = { v: 1, hub: hub.up.hub.hubId, verb: 'join', id: freshId(), atMs: Date.now(), body };
  const captured = signMessage(content, [victim.key, token.key]);
  const untouched = async () => expect(await headOf(body.clusterId)).toBeUndefined();

  // By another key: on its own subject the signature is not its own, and the victim's subject is the victim's.
  const news = thief.nextNews();
  thief.nc.publish(`rollcall.request.${thief.key.publicKey}.join`, JSON.stringify(captured));
  expect((await news).result).toMatchObject({ kind: 'refused', code: 'PROOF_INVALID' });
  const onTheirs = `rollcall.request.${victim.key.publicKey}.join`;
  expect(await serverRefuses(thief.nc, onTheirs, JSON.stringify(captured))).toMatch(/ermissions/);
  await untouched();

  // With another time in it.
  const changed = {
    ...captured,
    signed: captured.signed.replace(String(content.atMs), String(content.atMs + 1)),
  };
  const refusal = victim.nextNews();
  victim.nc.publish(onTheirs, JSON.stringify(changed));
  expect((await refusal).result).toMatchObject({ kind: 'refused', code: 'PROOF_INVALID' });

  // Later, with the very words: as if it had been captured ten minutes ago. And one that was made beforehand.
  for (const atMs of [Date.now() - 600_000, Date.now() + 600_000]) {
    const { result, atMs: hubMs } = await victim.request('join', body, {
      atMs,
      signers: [victim.key, token.key],
    });
    expect(result).toMatchObject({ kind: 'refused', code: 'CLOCK_SKEW' });
    expect(Math.abs(hubMs - Date.now())).toBeLessThan(60_000);
  }
  // For another hub.
  const elsewhere = { hub: 'AAAAAAAAAAAAAAAA', signers: [victim.key, token.key] };
  const { result } = await victim.request('join', body, elsewhere);
  expect(result).toMatchObject({ kind: 'refused', code: 'HUB_WRONG' });
  await untouched();
});

test('a request that is sent twice is one request', async () => {
  const token = await hub.createToken();
  await using agent = await connectWithToken(asked, token);
  const body = aJoin(token);
  const content = { v: 1, hub: hub.up.hub.hubId, verb: 'join', id: freshId(), atMs: Date.now(), body };
  const message = JSON.stringify(signMessage(content, [agent.key, token.key]));
  for (let copies = 0; copies < 5; copies++)
    agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, message);
  await until('it is admitted', async () => (await record(body.clusterId)).identity?.admittedKey);
  agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, message);
  await agent.nc.flush();
  expect((await joinWith(agent, token, body)).result.kind).toBe('admitted');
  const types: string[] = [];
  for await (const event of hub.log.scan({ filter: `cluster.${body.clusterId}.requested` }))
    types.push(event.type);
  expect(types).toEqual(['requested']);
});

test('of a banned cluster neither its own key nor another one gets in, with whatever token', async () => {
  const owner = await aMember();
  const { clusterId, clusterName } = owner;
  await until('the cluster is shown', () => hub.cluster(clusterName));
  await hub.up.admin.mergePatch(resources.managedClusters, clusterName, {
    spec: {
      operation: { id: randomUUID(), verb: 'Ban', keyFingerprint: keyFingerprint(owner.agent.key.publicKey) },
    },
  });
  await owner.agent.nc.closed();
  const banned = await until('it is banned', async () => {
    const found = await record(clusterId);
    return found.decision?.verdict === 'banned' && found;
  });
  expect(banned.decision?.approvedKey).toBeUndefined();
  const { token, agent } = await anAttacker();
  const answers = [await joinWith(agent, token, aJoin(token, { clusterId }))];
  await using again = await connectWithToken(asked, token, { key: owner.agent.key });
  answers.push(await joinWith(again, token, aJoin(token, { clusterId })));
  for (const { result } of answers) expect(result).toMatchObject({ kind: 'refused', code: 'CLUSTER_BANNED' });
  expect((await record(clusterId)).decision).toMatchObject({ verdict: 'banned' });
  await agent[Symbol.asyncDispose]();
});
