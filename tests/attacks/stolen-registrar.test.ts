import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentRole, scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** It has the keys that let agents in. They let in agents: nobody else, and with no other rights. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const attacks: readonly BusAttack[] = [
  { name: 'approve a cluster', publish: forgedEvent('approved', { verdict: 'approved' }) },
  { name: 'unban one', publish: forgedEvent('unbanned', {}) },
  { name: 'revoke one', publish: forgedEvent('revoked', {}) },
  { name: 'say that a cluster is alive', publish: forgedEvent('ready', { state: 'ready' }) },
  { name: 'say that access was given', publish: forgedEvent('provisioned', {}) },
  {
    name: 'declare a token',
    publish: () => ({ subject: 'rollcall.events.token.mine.declared', body: '{}' }),
  },
  {
    name: 'declare a policy',
    publish: () => ({ subject: 'rollcall.events.policy.mine.declared', body: '{}' }),
  },
  {
    name: 'release a name',
    publish: () => ({ subject: 'rollcall.events.name.victim.released', body: '{}' }),
  },
  {
    name: 'answer in the provisioner’s place',
    publish: () => ({ subject: 'rollcall.access.minted.x', body: '{}' }),
  },
  {
    name: 'send heartbeats for a cluster in HUB',
    publish: ({ victim }) => ({ subject: `rollcall.heartbeat.${victim.clusterId}`, body: '1' }),
  },
  { name: 'hear requests for access of others', subscribe: 'rollcall.access.mint' },
  { name: 'read the approver’s inbox', subscribe: '_INBOX_approver.>' },
  { name: 'push claims', publish: () => ({ subject: '$SYS.REQ.CLAIMS.UPDATE', body: 'x' }) },
  ...onJetStream('purge the stream', 'STREAM.PURGE.EVENTS'),
  ...onJetStream('make a consumer', 'CONSUMER.CREATE.EVENTS.mine', { body: '{}' }),
];

describe('with the registrar’s identity nobody can', () => {
  test.each(attacks)('$name', async (attack) => {
    await using thief = await stage.steal('registrar');
    await expectRefused(stage, thief, attack);
  });
});

const atTheCallout: readonly BusAttack[] = [
  { name: 'publish', publish: () => ({ subject: 'rollcall.events.cluster.x.approved', body: '{}' }) },
  ...onJetStream('use JetStream', 'INFO'),
  { name: 'push claims', publish: () => ({ subject: '$SYS.REQ.CLAIMS.UPDATE', body: 'x' }) },
  { name: 'hear the server’s events', subscribe: '$SYS.>' },
  { name: 'hear who connects', subscribe: '$SYS.ACCOUNT.>' },
];

describe('with the callout’s user nobody can', () => {
  test.each(atTheCallout)('$name', async (attack) => {
    await using thief = await stage.steal('callout');
    await expectRefused(stage, thief, attack);
  });
});

interface Stolen {
  readonly agentSigners: Readonly<Record<AgentRole, string>>;
  readonly callout: { readonly accountSeed: string };
}
const stolen = () =>
  JSON.parse(readFileSync(join(stage.hub.stateDir, 'identities', 'registrar.json'), 'utf8')) as Stolen;

/** A user for itself, signed with what it has. */
function mint(seed: string, nats: Record<string, unknown>, name = 'x') {
  const key = createNkey('user');
  const jwt = encodeJwt({ subject: key.publicKey, name, nowMs: Date.now(), nats }, nkeyFromSeed(seed));
  return { jwt, seed: key.seed };
}
const everything = { pub: { allow: ['>'] }, sub: { allow: ['>'] }, subs: -1, data: -1, payload: -1 };

describe('with the keys in its file', () => {
  test.each([
    {
      name: 'a service in HUB, by the key for members',
      forge: () =>
        mint(stolen().agentSigners.member, { ...scopedUserClaims(stage.hub.hub.keys.hub), ...everything }),
    },
    {
      name: 'a service in HUB, by the key of AUTH',
      forge: () =>
        mint(stolen().callout.accountSeed, { ...scopedUserClaims(stage.hub.hub.keys.hub), ...everything }),
    },
    {
      name: 'the SYS user, by the key of AUTH',
      forge: () =>
        mint(stolen().callout.accountSeed, { ...scopedUserClaims(stage.hub.hub.keys.sys), ...everything }),
    },
    {
      name: 'an agent with rights of its own, by the key for members',
      forge: () =>
        mint(stolen().agentSigners.member, { ...scopedUserClaims(stage.hub.hub.keys.agents), ...everything }),
    },
  ])('nobody becomes $name', async ({ forge }) => {
    const before = await stage.state();
    await expect(connectRaw(stage.hub, forge())).rejects.toThrow('Authorization Violation');
    expect(await stage.state()).toEqual(before);
  });

  /** What it can: whoever thinks that this is refused, is told here that it is not. */
  test('anybody becomes an agent of any cluster: until the signing keys are rotated', async () => {
    const claims = scopedUserClaims(stage.hub.hub.keys.agents);
    await using agent = await connectRaw(
      stage.hub,
      mint(stolen().agentSigners.member, claims, stage.victim.clusterId),
    );
    const heartbeat = `rollcall.heartbeat.${stage.victim.clusterId}`;
    const approval = `rollcall.events.cluster.${stage.victim.clusterId}.approved`;
    const forbidden = [approval, ...jetStreamSubjects('INFO')];
    expect(await agent.refusedPublish([heartbeat, ...forbidden])).toEqual(new Set(forbidden));
  });
});
