import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectBus } from '@rollcall/shared/bus';
import { everyAccount } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRaw } from '../harness/raw-bus.ts';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** The most precious of all: it has one of the operator's two signing keys. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const onHub: readonly BusAttack[] = [
  { name: 'approve a cluster', publish: forgedEvent('approved', { verdict: 'approved' }) },
  { name: 'revoke one', publish: forgedEvent('revoked', {}) },
  { name: 'unban one', publish: forgedEvent('unbanned', {}) },
  { name: 'admit a key', publish: forgedEvent('admitted', {}) },
  { name: 'say that a cluster is alive', publish: forgedEvent('ready', {}) },
  {
    name: 'answer an agent',
    publish: ({ victim }) => ({ subject: `rollcall.reply.${victim.agent.key.publicKey}.join`, body: '{}' }),
  },
  { name: 'hear what agents ask', subscribe: 'rollcall.request.*.*' },
  { name: 'hear what others append', subscribe: 'rollcall.events.>' },
  ...onJetStream('purge the stream', 'STREAM.PURGE.EVENTS'),
];

describe('with the account-controller’s user in HUB nobody can', () => {
  test.each(onHub)('$name', async (attack) => {
    await using thief = await stage.steal('account-controller');
    await expectRefused(stage, thief, attack);
  });
});

const onSys: readonly BusAttack[] = [
  { name: 'hear the server’s events', subscribe: '$SYS.>' },
  { name: 'hear every connection', subscribe: '$SYS.ACCOUNT.>' },
  { name: 'answer the callout', subscribe: '$SYS.REQ.USER.AUTH' },
  { name: 'hear inboxes', subscribe: '_INBOX.>' },
  { name: 'delete an account', publish: () => ({ subject: '$SYS.REQ.CLAIMS.DELETE', body: 'x' }) },
  { name: 'list the accounts', publish: () => ({ subject: '$SYS.REQ.CLAIMS.LIST', body: '' }) },
  { name: 'reload a server', publish: () => ({ subject: '$SYS.REQ.SERVER.x.RELOAD', body: '' }) },
  { name: 'send a server’s clients away', publish: () => ({ subject: '$SYS.REQ.SERVER.x.LDM', body: '' }) },
  { name: 'see what others subscribe', publish: () => ({ subject: '$SYS.REQ.SERVER.PING.SUBSZ', body: '' }) },
  ...onJetStream('purge the streams of an account', 'ACCOUNT.PURGE.x'),
];

describe('with its user in SYS nobody can', () => {
  test.each(onSys)('$name', async (attack) => {
    await using thief = await stage.steal('claims');
    await expectRefused(stage, thief, attack);
  });
});

/** Pushes claims of HUB in which one more key may sign, and connects with a user of that key who may everything. */
async function takeHub(operator: Nkey): Promise<void> {
  const { keys } = stage.hub.hub;
  const [signer, user] = [createNkey('account'), createNkey('user')];
  const found = everyAccount(keys).find(({ name }) => name === 'HUB');
  const claims = found?.claims as { signing_keys: string[] };
  const account = encodeJwt(
    {
      subject: keys.hub,
      name: 'HUB',
      nowMs: Date.now() + 2000,
      nats: { ...claims, signing_keys: [...claims.signing_keys, signer.publicKey] },
    },
    operator,
  );
  const sys = await connectBus(stage.hub.address, stage.hub.credentialsOf('claims'), 'claims');
  await sys.request('$SYS.REQ.CLAIMS.UPDATE', account, { timeout: 5000 });
  await sys.close();
  const nats = {
    type: 'user',
    issuer_account: keys.hub,
    pub: { allow: ['>'] },
    sub: { allow: ['>'] },
    subs: -1,
    data: -1,
    payload: -1,
  };
  const jwt = encodeJwt({ subject: user.publicKey, name: 'x', nowMs: Date.now(), nats }, signer);
  await using _ = await connectRaw(stage.hub, { jwt, seed: user.seed });
}

describe('claims that it pushes', () => {
  test('give nobody rights when they are signed by a key that the operator did not list', async () => {
    await expect(takeHub(createNkey('operator'))).rejects.toThrow('Authorization Violation');
    expect(stage.victim.agent.nc.isClosed()).toBe(false);
  });

  /** Told here so that nobody thinks otherwise: docs/security/identities.md says what to do. */
  test('take over the whole bus when they are signed by the operator’s key in its file', async () => {
    const path = join(stage.hub.stateDir, 'identities', 'account-controller.json');
    const { operatorSigningSeed } = JSON.parse(readFileSync(path, 'utf8')) as { operatorSigningSeed: string };
    await expect(takeHub(nkeyFromSeed(operatorSigningSeed))).resolves.toBeUndefined();
  });
});
