import { connectBus } from '@rollcall/shared/bus';
import { scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRaw } from '../harness/raw-bus.ts';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** It decides, so whoever has it lets in whom he likes; what else he could want, he cannot do. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const attacks: readonly BusAttack[] = [
  { name: 'admit a key', publish: forgedEvent('admitted', { admittedKey: 'U' }) },
  { name: 'ask in the name of a cluster', publish: forgedEvent('requested', {}) },
  { name: 'say that a cluster is alive', publish: forgedEvent('ready', { state: 'ready' }) },
  { name: 'say that a key was cut', publish: forgedEvent('cut', {}) },
  { name: 'say that access was given', publish: forgedEvent('provisioned', {}) },
  { name: 'spend a token', publish: () => ({ subject: 'rollcall.events.token.mine.used', body: '{}' }) },
  { name: 'take a name', publish: () => ({ subject: 'rollcall.events.name.mine.taken', body: '{}' }) },
  {
    name: 'tell agents of another key of the hub',
    publish: () => ({ subject: 'rollcall.events.hub.hub.trust-announced', body: '{}' }),
  },
  {
    name: 'answer an agent',
    publish: ({ victim }) => ({ subject: `rollcall.reply.${victim.agent.key.publicKey}.join`, body: '{}' }),
  },
  {
    name: 'have an access token made',
    publish: () => ({ subject: 'rollcall.access.mint', body: '{}', reply: '_INBOX_approver.x' }),
  },
  { name: 'hear the box that it lies in', subscribe: 'rollcall.access.minted.*' },
  { name: 'hear what agents ask', subscribe: 'rollcall.request.*.*' },
  { name: 'hear what others append', subscribe: 'rollcall.events.>' },
  { name: 'read the account-controller’s inbox', subscribe: '_INBOX_account-controller.>' },
  { name: 'push claims', publish: () => ({ subject: '$SYS.REQ.CLAIMS.UPDATE', body: 'x' }) },
  ...onJetStream('purge what it decided', 'STREAM.PURGE.EVENTS'),
  ...onJetStream('delete one decision', 'STREAM.MSG.DELETE.EVENTS', { body: '{"seq":1}' }),
  ...onJetStream('put its own events away from the provisioner', 'CONSUMER.DELETE.EVENTS.rbac-provisioner'),
];

describe('with the approver’s identity nobody can', () => {
  test.each(attacks)('$name', async (attack) => {
    await using thief = await stage.steal('approver');
    await expectRefused(stage, thief, attack);
  });
});

test('it can approve, and still makes no credentials: what it signs lets nobody in', async () => {
  const before = await stage.state();
  const [key, account] = [createNkey('user'), createNkey('account')];
  for (const signer of [account, createNkey('account')]) {
    const claims = scopedUserClaims(stage.hub.hub.keys.agents);
    const jwt = encodeJwt(
      { subject: key.publicKey, name: stage.victim.clusterId, nowMs: Date.now(), nats: claims },
      signer,
    );
    await expect(connectRaw(stage.hub, { jwt, seed: key.seed })).rejects.toThrow('Authorization Violation');
  }
  expect(await stage.state()).toEqual(before);
});

test('its credentials are its own: with the seed of another they open nothing', async () => {
  const { jwt } = stage.hub.credentialsOf('approver');
  const { seed } = stage.hub.credentialsOf('heartbeat');
  await expect(connectRaw(stage.hub, { jwt, seed })).rejects.toThrow('Authorization Violation');
  const nc = await connectBus(stage.hub.address, stage.hub.credentialsOf('approver'), 'approver');
  await nc.close();
});
