import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { consumeEvents } from '@rollcall/shared/decisions';
import type { AggregateId } from '@rollcall/shared/events';
import { agentsAccountClaims } from '@rollcall/shared/rights';
import { createLogger } from '@rollcall/shared/service';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { readOfflineKeys } from '../../../cli/up/state/offline-keys.ts';
import { CutKeys } from '../cut-keys.ts';
import { followRevocations } from '../follow-revocations.ts';
import { createClaimsController } from '../reconcile-account-claims.ts';
import { type AccountControllerWorld, startWorld } from './account-controller-world.ts';

let world: AccountControllerWorld;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world?.[Symbol.asyncDispose]());

async function connected(...how: Parameters<AccountControllerWorld['tryAs']>): Promise<NatsConnection> {
  const nc = await world.tryAs(...how);
  if (typeof nc === 'string') throw new Error(nc);
  return nc;
}

const connectionsOf = async (key: string) =>
  (await world.system.connectionsOfEach(world.keys.agents, [key])).get(key) ?? [];

test('a revoked member is cut and stays out, and nobody else is [OC-8, X-5]', async () => {
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  const one = world.hub.agentCredentials('member', 'one');
  const other = world.hub.agentCredentials('member', 'other');
  const [oneConnection, otherConnection] = [await connected(one), await connected(other)];

  await world.say('revoked', 'one', [one.publicKey]);
  const { cut } = await world.cut('one');
  expect(cut?.key).toBe(one.publicKey);
  await oneConnection.closed();
  expect(await world.tryAs(one)).toContain('Authorization Violation');
  expect(await connectionsOf(one.publicKey)).toEqual([]);
  // A connection that is alive answers a ping.
  await otherConnection.flush();
  expect(await world.tryAs(other)).not.toBeTypeOf('string');
});

test('who was revoked stays out after kill -9 of the server, and comes in after a new approval', async () => {
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  const one = world.hub.agentCredentials('member', 'one');
  await world.say('revoked', 'one', [one.publicKey]);
  await world.cut('one');
  await world.killAndRestartServer();
  expect(await world.tryAs(one)).toContain('Authorization Violation');

  await world.say('approved', 'one');
  const renewed = world.hub.agentCredentials('member', 'one', { seed: one.seed });
  let again = await world.tryAs(renewed);
  while (typeof again === 'string') again = await world.tryAs(renewed);
  expect(await world.stored()).toEqual({});
});

test('what was revoked while no account-controller ran is refused once one starts', async () => {
  const one = world.hub.agentCredentials('member', 'one');
  await world.say('revoked', 'one', [one.publicKey]);
  const connection = await connected(one);
  await using controller = await world.startController();
  await connection.closed();
  expect(controller.notReady()).toBeUndefined();
  expect(Object.keys(await world.stored())).toEqual([one.publicKey]);
});

test('a connection that the server knows by the name of its user is ended too', async () => {
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  // As the callout lets agents in: by another user key, which no revocation names, with the agent's key as the user's name.
  const agentKey = createNkey('user').publicKey;
  const nc = await connected(world.hub.agentCredentials('returning', agentKey), agentKey);
  expect(await connectionsOf(agentKey)).toHaveLength(1);
  await world.say('revoked', 'one', [agentKey]);
  await world.cut('one');
  await nc.closed();
  expect(await connectionsOf(agentKey)).toEqual([]);
});

test('two account-controllers at once end with the whole list', async () => {
  await using one = await world.startController();
  await using two = await world.startController();
  const keys = Array.from({ length: 20 }, () => createNkey('user').publicKey);
  await Promise.all(keys.map((key, index) => world.say('revoked', `c${index}`, [key])));
  await Promise.all(keys.map((_key, index) => world.cut(`c${index}`)));
  expect(Object.keys(await world.stored())).toEqual(keys.toSorted());
  const applied = await world.system.applied(world.keys.agents);
  for (const { revocations } of applied) expect(Object.keys(revocations).toSorted()).toEqual(keys.toSorted());
  expect([one.notReady(), two.notReady()]).toEqual([undefined, undefined]);
});

/** What is asked of the servers about connections, as one of their own users hears it. */
async function connectionQuestions(): Promise<{ count(): number }> {
  const nc = await world.connectSystem();
  let count = 0;
  nc.subscribe('$SYS.REQ.SERVER.PING.CONNZ', { callback: () => void count++ });
  await nc.flush();
  return { count: () => count };
}

test('200 keys at once are cut by a few lists of connections, and not by a question for each', async () => {
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  // As the callout lets agents in: only these are left when the servers refuse a key.
  const names = Array.from({ length: 200 }, () => createNkey('user').publicKey);
  const connections = await Promise.all(
    names.slice(0, 20).map((name) => connected(world.hub.agentCredentials('returning', name), name)),
  );
  const other = await connected(world.hub.agentCredentials('member', 'other'));
  const questions = await connectionQuestions();
  await Promise.all(names.map((key, index) => world.say('revoked', `c${index}`, [key])));
  for (const index of names.keys()) await world.cut(`c${index}`);
  for (const nc of connections) await nc.closed();
  await other.flush();
  expect(questions.count()).toBeLessThan(40);
  expect(questions.count()).toBeGreaterThan(0);
});

test('a key that a person takes back is cut while 1,100 that leave wait for their batch', async () => {
  for (let from = 0; from < 1100; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        world.say('leaving', `l${from + index}`, [createNkey('user').publicKey]),
      ),
    );
  await world.say('revoked', 'one', [createNkey('user').publicKey]);
  const log = await world.hub.openLog('account-controller');
  const isTakenBack = Promise.withResolvers<void>();
  const refused: Record<string, number> = {};
  const cutWorld = {
    log: {
      ...log,
      // No batch ends before the other key's turn has come.
      async read(aggregate: AggregateId) {
        if (aggregate.id === 'one') isTakenBack.resolve();
        await isTakenBack.promise;
        return log.read(aggregate);
      },
    },
    longestLifeMs: 3_600_000,
    nowMs: Date.now,
    keepClaims: () => Promise.resolve(refused),
    endConnections: () => Promise.resolve(),
    cutKeys: new CutKeys(),
  };
  const handle = followRevocations(cutWorld, { mayGiveBack: () => Promise.resolve(false) });
  const nc = await world.hub.connectAs('account-controller');
  const logger = createLogger({ service: 'account-controller', level: 'silent' });
  const consumption = await consumeEvents(nc, { service: 'account-controller', logger, handle });
  await isTakenBack.promise;
  expect(consumption.running()).toBeGreaterThan(1000);
  await consumption.drain();
});

test('about a key that was cut nobody is asked again, while its cluster has others taken back', async () => {
  await using controller = await world.startController();
  expect(controller.notReady()).toBeUndefined();
  const former = Array.from({ length: 72 }, () => ({ key: createNkey('user').publicKey, atMs: Date.now() }));
  await world.say('revoked', 'one', former);
  await world.cut('one');
  const questions = await connectionQuestions();
  const key = createNkey('user').publicKey;
  await world.say('revoked', 'one', [...former, { key }]);
  const { cut } = await world.cut('one');
  expect(cut?.key).toBe(key);
  expect(questions.count()).toBe(1);
});

test('connections of many are listed over pages', async () => {
  const [names, more] = [[createNkey('user').publicKey, createNkey('user').publicKey], 1100];
  await connected(world.hub.agentCredentials('returning', names[0] ?? ''), names[0]);
  for (let from = 0; from < more; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, () => connected(world.hub.agentCredentials('member', 'other'))),
    );
  await connected(world.hub.agentCredentials('returning', names[1] ?? ''), names[1]);
  const found = await world.system.connectionsOfEach(world.keys.agents, [
    ...names,
    createNkey('user').publicKey,
  ]);
  expect([...found.keys()].toSorted()).toEqual(names.toSorted());
});

test('claims that differ in more than revocations are not signed over', async () => {
  const signer = nkeyFromSeed(readOfflineKeys(world.hub.stateDir).operatorSigners[0] ?? '');
  const nats = { ...agentsAccountClaims(world.keys, {}), description: 'somebody was here' };
  const nowMs = Date.now() + 2000;
  await world.system.push(encodeJwt({ subject: world.keys.agents, name: 'AGENTS', nowMs, nats }, signer));
  await world.say('revoked', 'one', [createNkey('user').publicKey]);
  await using controller = await world.startController();
  expect(controller.notReady()).toContain('more than revocations');
  expect(await world.stored()).toEqual({});
});

test('a push that the server acknowledges and ignores is not believed', async () => {
  const { system, keys } = world;
  const signer = createNkey('operator');
  const revokedKeys = [{ key: createNkey('user').publicKey, atMs: Date.now() }];
  const keepClaims = createClaimsController({
    system,
    // Not one of the operator's.
    known: () => ({ keys, agentsAccount: agentsAccountClaims(keys, {}), formerAgentSigners: [], signer }),
    longestLifeMs: 3_600_000,
    nowMs: Date.now,
    readRevokedKeys: () => Promise.resolve({ takenBack: [{ revokedKeys }], givenBack: new Map() }),
  });
  await expect(keepClaims()).rejects.toMatchObject({ code: 'CLAIMS_NOT_APPLIED' });
});
