import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { agentsAccountClaims, mostRevocations, scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { type AccountControllerWorld, startWorld } from './account-controller-world.ts';

let world: AccountControllerWorld;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world?.[Symbol.asyncDispose]());

const hourMs = 3_600_000;

/** With keys that no event names, all of them taken back later than now. */
async function fillList(): Promise<void> {
  const revocations = Object.fromEntries(
    Array.from({ length: mostRevocations }, (_, index) => [
      createNkey('user').publicKey,
      1_900_000_000 + index,
    ]),
  );
  const { operatorSigningSeed } = JSON.parse(
    readFileSync(join(world.hub.stateDir, 'identities', 'account-controller.json'), 'utf8'),
  ) as { operatorSigningSeed: string };
  // While keys roll over there are two generations.
  const keys = { ...world.keys, moreAgentSigners: [world.keys.agentSigners] };
  const nats = agentsAccountClaims(keys, revocations);
  const claims = { subject: world.keys.agents, name: 'AGENTS', nowMs: Date.now() + 5000, nats };
  await world.system.push(encodeJwt(claims, nkeyFromSeed(operatorSigningSeed)));
}

/** A renewal as a registrar signs it that has not heard of the revocation, or whose clock is ahead. */
function renewal(of: { seed: string }, aheadMs: number) {
  const { agentSigners, agentsAccount } = JSON.parse(
    readFileSync(join(world.hub.stateDir, 'identities', 'registrar.json'), 'utf8'),
  ) as { agentSigners: Record<string, string>; agentsAccount: string };
  const key = nkeyFromSeed(of.seed);
  const nowMs = Date.now() + aheadMs;
  const jwt = encodeJwt(
    {
      subject: key.publicKey,
      name: 'one',
      nowMs,
      expiresAtMs: nowMs + 24 * hourMs,
      nats: scopedUserClaims(agentsAccount),
    },
    nkeyFromSeed(agentSigners['member'] ?? ''),
  );
  return { jwt, seed: of.seed };
}

test('a renewal signed while the key was taken back stays out, and a new approval lets even the old one in', async () => {
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  const one = world.hub.agentCredentials('member', 'one');
  await world.say('revoked', 'one', [one.publicKey]);
  await world.cut('one');
  for (const aheadMs of [0, 60_000, hourMs]) {
    expect(await world.tryAs(renewal(one, aheadMs))).toContain('Authorization Violation');
  }
  await world.say('approved', 'one');
  while (typeof (await world.tryAs(one)) === 'string');
});

test('a server that comes back with older claims is mended without an event', async () => {
  const directory = join(world.hub.stateDir, 'nats', 'jwt');
  const find = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name === `${world.keys.agents}.jwt`)
      .map((entry) => join(entry.parentPath, entry.name));
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  const [path = ''] = find(directory);
  const backup = readFileSync(path, 'utf8');
  expect(await world.stored()).toEqual({});
  const one = world.hub.agentCredentials('member', 'one');
  await world.say('revoked', 'one', [one.publicKey]);
  await world.cut('one');
  // What the server has then nobody can ask in time: the controller is back as soon as it is.
  await world.killAndRestartServer(() => writeFileSync(path, backup));
  while (Object.keys(await world.stored()).length === 0);
  // The server began with the file of before, and has another one now.
  await expect.poll(() => readFileSync(path, 'utf8')).not.toBe(backup);
  expect(await world.tryAs(one)).toContain('Authorization Violation');
});

test('a history that is gone takes nobody off the list, and an approval of that key does', async () => {
  const one = world.hub.agentCredentials('member', 'one');
  {
    await using controller = await world.startController();
    expect(controller.notReady()).toBeUndefined();
    await world.say('revoked', 'one', [one.publicKey]);
    await world.cut('one');
  }
  const before = await world.stored();
  const { stateDir } = world.hub;
  await world.killAndRestartServer(() => rmSync(join(stateDir, 'nats', 'jetstream'), { recursive: true }));
  {
    await using controller = await world.startController();
    expect(controller.notReady()).toContain('HISTORY_LOST');
    expect(await world.stored()).toEqual(before);
  }
  // Somebody accepts the loss: a new epoch begins.
  const identity = join(stateDir, 'identities', 'account-controller.json');
  writeFileSync(identity, JSON.stringify({ ...JSON.parse(readFileSync(identity, 'utf8')), epoch: 2 }));
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  expect(await world.stored()).toEqual(before);
  expect(await world.tryAs(one)).toContain('Authorization Violation');
  await world.say('approved', 'one', [], one.publicKey);
  while (typeof (await world.tryAs(one)) === 'string');
});

test('a key that was taken back stays out when agents have replaced more keys since than the list takes', async () => {
  const one = world.hub.agentCredentials('member', 'one');
  await world.say('revoked', 'one', [one.publicKey]);
  // Later ones, in parts that fit an event.
  const part = 2000;
  for (let begin = 0; begin <= mostRevocations; begin += part) {
    const keys = Array.from({ length: part }, () => ({
      key: createNkey('user').publicKey,
      rotated: true as const,
    }));
    await world.say('revoked', `busy-${begin}`, keys);
  }
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  const stored = await world.stored();
  expect(Object.keys(stored)).toHaveLength(mostRevocations);
  expect(stored).toHaveProperty(one.publicKey);
  expect(await world.tryAs(one)).toContain('Authorization Violation');
});

test('a key that is pushed off a full list before it was cut loses its connection, is counted, and is not said to be cut', async () => {
  const one = world.hub.agentCredentials('member', 'one');
  const connected = (await world.tryAs(one)) as NatsConnection;
  await world.say('revoked', 'one', [one.publicKey]);
  await fillList();
  async function untilEnded(): Promise<void> {
    for await (const { type } of connected.status()) if (type === 'disconnect' || type === 'close') return;
  }
  const ended = untilEnded();
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  await ended;
  expect(Object.keys(await world.stored())).not.toContain(one.publicKey);
  const inspector = await world.hub.connectAs('inspector');
  const answer = await inspector.request('$SRV.STATS.account-controller', '', { timeout: 5000 });
  const { data } = answer.json<{ data: Record<string, number> }>();
  expect(data).toMatchObject({ revokedKeysDropped: 1 });
  const log = await world.hub.openLog('approver');
  expect((await log.read({ kind: 'cluster', id: 'one' })).lastOf['account-controller']).toBeUndefined();
});

test('as many keys as the list takes fit one push, and every server acts on them', async () => {
  await fillList();
  const [applied] = await world.system.applied(world.keys.agents);
  expect(Object.keys(applied?.revocations ?? {})).toHaveLength(mostRevocations);
});
