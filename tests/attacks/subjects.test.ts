import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BusCredentials } from '@rollcall/shared/bus';
import { createNkey, decodeJwt } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decideAs } from '../harness/events.ts';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { connectRaw, type RawBus } from '../harness/raw-bus.ts';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** A member of this very hub, approved and with good credentials, against another one (reliability notes S1–S9). */
let stage: Stage;
let member: BusCredentials & { publicKey: string };
const ownId = randomUUID();
beforeAll(async () => {
  stage = await startStage();
  member = stage.hub.agentCredentials('member', ownId);
});
afterAll(() => stage[Symbol.asyncDispose]());

const asMember = async (): Promise<RawBus & { user: BusCredentials }> => ({
  ...(await connectRaw(stage.hub, member)),
  user: member,
});

const attacks: readonly BusAttack[] = [
  {
    name: 'send heartbeats for another cluster',
    publish: ({ victim }) => ({ subject: `rollcall.heartbeat.${victim.clusterId}` }),
  },
  { name: 'send heartbeats for all', publish: () => ({ subject: 'rollcall.heartbeat.*' }) },
  {
    name: 'send heartbeats for another in a partition',
    publish: ({ victim }) => ({ subject: `rollcall.heartbeat-partition.0.${victim.clusterId}` }),
  },
  {
    name: 'ask in the name of another key',
    publish: ({ victim }) => ({
      subject: `rollcall.request.${victim.agent.key.publicKey}.renew`,
      body: '{}',
    }),
  },
  {
    name: 'ask that another cluster leaves',
    publish: ({ victim }) => ({
      subject: `rollcall.request.${victim.agent.key.publicKey}.leave`,
      body: '{}',
    }),
  },
  {
    name: 'answer another agent',
    publish: ({ victim }) => ({ subject: `rollcall.reply.${victim.agent.key.publicKey}.join`, body: '{}' }),
  },
  {
    name: 'answer on a stream of another cluster',
    publish: ({ victim }) => ({ subject: `rollcall.tunnel.up.${victim.clusterId}.gateway.1` }),
  },
  {
    name: 'open a stream to another cluster',
    publish: ({ victim }) => ({ subject: `rollcall.tunnel.open.${victim.clusterId}`, body: '{}' }),
  },
  {
    name: 'speak to another cluster as the gateway does',
    publish: ({ victim }) => ({ subject: `rollcall.tunnel.down.${victim.clusterId}.gateway.1` }),
  },
  { name: 'hear what is asked of another cluster', subscribe: 'rollcall.tunnel.open.*' },
  { name: 'hear streams of another cluster', subscribe: 'rollcall.tunnel.down.>' },
  { name: 'hear what others answer', subscribe: 'rollcall.tunnel.up.>' },
  { name: 'write an event', publish: forgedEvent('approved', {}) },
  ...onJetStream('purge a stream', 'STREAM.PURGE.EVENTS'),
  ...onJetStream('restore a stream', 'STREAM.RESTORE.EVENTS', { body: '{}' }),
  ...onJetStream('make a consumer', 'CONSUMER.CREATE.EVENTS', { body: '{}' }),
  ...onJetStream('read a message', 'STREAM.MSG.GET.EVENTS', { body: '{"seq":1}' }),
  ...onJetStream('read one directly', 'DIRECT.GET.EVENTS', { body: '{"seq":1}' }),
  { name: 'push claims', publish: () => ({ subject: '$SYS.REQ.CLAIMS.UPDATE', body: 'x' }) },
  { name: 'see the connections of its account', publish: () => ({ subject: '$SYS.REQ.ACCOUNT.PING.CONNZ' }) },
  { name: 'ask services how they are', publish: () => ({ subject: '$SRV.PING' }) },
  { name: 'hear heartbeats', subscribe: 'rollcall.heartbeat.>' },
  { name: 'hear asks', subscribe: 'rollcall.request.>' },
  { name: 'hear the server', subscribe: '$SYS.>' },
  { name: 'hear JetStream', subscribe: '$JS.>' },
  { name: 'hear events', subscribe: 'rollcall.events.>' },
  { name: 'hear answers to service imports', subscribe: '_R_.>' },
];

describe('a member can not', () => {
  test.each(attacks)('$name', async (attack) => {
    await using attacker = await asMember();
    await expectRefused(stage, attacker, attack);
  });
});

/** Each form in which a subscription could overlap with what another agent is told. */
const overlapping = (victim: string) => [
  `rollcall.reply.${victim}.>`,
  `rollcall.reply.${victim}.*`,
  `rollcall.reply.${victim}.renew`,
  'rollcall.reply.*.>',
  'rollcall.reply.*.*',
  'rollcall.reply.>',
  'rollcall.*.*.>',
  'rollcall.>',
  '*.answer.>',
  '*.>',
  '>',
  '_INBOX.>',
  '_INBOX_agent.>',
];

test('a member hears nothing of what another one is answered, by whatever wildcard or queue group', async () => {
  const victim = stage.victim.agent.key.publicKey;
  await using attacker = await asMember();
  const forms = overlapping(victim);
  expect(await attacker.refusedSubscribe(forms)).toEqual(new Set(forms));
  for (const queue of ['q', 'callout', '*', '>']) {
    expect(await attacker.refusedSubscribe(forms, queue)).toEqual(new Set(forms));
  }
  const own = `rollcall.reply.${member.publicKey}.>`;
  const heard = await attacker.hear([...forms, own], async () => {
    const { result } = await stage.victim.agent.request('renew', { clusterId: stage.victim.clusterId });
    expect(result.kind).not.toBe('refused');
  });
  expect(heard).toEqual([]);
  // The same subscriber hears where it may.
  await using person = await stage.steal('ops');
  const decided = await person.hear(['rollcall.stored.>'], async () => {
    await decideAs(stage.approverLog, stage.victim.clusterId, 'approved');
  });
  expect(decided).toEqual([`rollcall.stored.cluster.${stage.victim.clusterId}.approved`]);
});

describe('who is nobody', () => {
  const anybody = createNkey('user');
  test.each([
    { name: 'without any credentials', user: undefined, more: {} },
    { name: 'with a name and a password', user: undefined, more: { user: 'admin', pass: 'admin' } },
    { name: 'with a token of NATS', user: undefined, more: { auth_token: 'admin' } },
    { name: 'with a key of its own making', user: undefined, more: { nkey: anybody.publicKey, sig: 'AAAA' } },
    {
      name: 'with the credentials of a member and the key of nobody',
      user: () => ({ jwt: member.jwt, seed: anybody.seed }),
      more: {},
    },
    {
      name: 'with credentials that have ended',
      user: () => stage.hub.agentCredentials('member', ownId, { lifeMs: -1000 }),
      more: {},
    },
    {
      name: 'with the sentinel, which is no secret, and a password for the callout',
      user: undefined,
      more: () => ({ jwt: stage.hub.hub.sentinelJwt, user: 'admin', pass: 'admin' }),
    },
  ])('does not get in $name', async ({ user, more }) => {
    const before = await stage.state();
    const fields = typeof more === 'function' ? more() : more;
    await expect(connectRaw(stage.hub, user?.(), fields)).rejects.toThrow('Authorization Violation');
    expect(await stage.state()).toEqual(before);
  });
});

test.each([
  { name: 'HUB by name', more: { account: 'HUB' } },
  { name: 'HUB by key', more: () => ({ account: stage.hub.hub.keys.hub }) },
  { name: 'the global account', more: { account: '$G', new_account: true } },
  { name: 'SYS', more: () => ({ account: stage.hub.hub.keys.sys }) },
])('a member that says in CONNECT that it is of $name is not let in at all', async ({ more }) => {
  const fields = typeof more === 'function' ? more() : more;
  await expect(connectRaw(stage.hub, member, fields)).rejects.toThrow('Authorization Violation');
});

test('the server listens for clients alone: no leafnodes, routes, gateways, monitoring or MQTT to come in by', () => {
  const config = readFileSync(join(stage.hub.stateDir, 'nats', 'nats.conf'), 'utf8');
  expect(config).not.toMatch(
    /^\s*(leafnodes|cluster|gateway|http|https|http_port|https_port|mqtt|no_auth_user)\b/m,
  );
  expect(decodeJwt(stage.hub.hub.sentinelJwt)?.nats).toMatchObject({
    pub: { deny: ['>'] },
    sub: { deny: ['>'] },
  });
});

test.each(['token', 'returning', 'waiting'] as const)(
  'an agent as %s sends heartbeats for nobody and reads nothing, also under the id of a cluster',
  async (role) => {
    const user = stage.hub.agentCredentials(role, stage.victim.clusterId);
    await using attacker = await connectRaw(stage.hub, user);
    const own = [
      `rollcall.heartbeat.${stage.victim.clusterId}`,
      `rollcall.request.${user.publicKey}.renew`,
      ...jetStreamSubjects('INFO'),
    ];
    const refused = await attacker.refusedPublish(own);
    expect(refused).toEqual(new Set(own));
  },
);
