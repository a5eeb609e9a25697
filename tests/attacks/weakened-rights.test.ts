import { jetstreamManager } from '@nats-io/jetstream';
import { connectBus, openEventLog, readDeadLetters } from '@rollcall/shared/bus';
import { clusterRecord } from '@rollcall/shared/events';
import { type Role, serviceRoles } from '@rollcall/shared/rights';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decideAs } from '../harness/events.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { aProjection, outcomeOf, startGuardedHub } from '../admission/guarded-hub.ts';
import { resources } from '@rollcall/shared/kubernetes';
import { expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/**
 * Each defence that the attacks on stolen identities meet, taken away: the same attack then succeeds, and the same check finds
 * it. So it is that defence which holds, and a test that can fail which says so. For the matrix of rights and the lists of
 * Kubernetes this stands in tests/rights.
 */
let stage: Stage;
beforeEach(async () => {
  stage = await startStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

const heartbeat: Role = serviceRoles.heartbeat;

describe('a right too many', () => {
  test.each([
    {
      name: 'to publish',
      more: { publish: ['rollcall.events.cluster.*.approved'] },
      attack: { publish: forgedEvent('approved', {}) },
    },
    {
      name: 'to ask JetStream',
      more: { publish: ['$JS.hub.API.STREAM.PURGE.EVENTS'] },
      attack: onJetStream('', 'STREAM.PURGE.EVENTS').at(-1) ?? {},
    },
    {
      name: 'to subscribe',
      more: { subscribe: ['rollcall.request.*.*'] },
      attack: { subscribe: 'rollcall.request.*.*' },
    },
  ])('$name turns its test red', async ({ more, attack }) => {
    const weak = {
      ...heartbeat,
      publish: [...heartbeat.publish, ...(more.publish ?? [])],
      subscribe: [...heartbeat.subscribe, ...(more.subscribe ?? [])],
    };
    const user = stage.hub.userWith(weak, 'heartbeat');
    await using bus = await connectRaw(stage.hub, user);
    await expect(expectRefused(stage, { ...bus, user }, { name: '', ...attack })).rejects.toThrow(
      'expected false to be true',
    );
  });
});

test('where the streams are, who may respond to what it overhears acknowledges an append that the stream refused', async () => {
  const inHub = (role: Role, name: string) => stage.hub.userWith({ ...role, account: 'HUB' }, name);
  const subscribe = [...heartbeat.subscribe, 'rollcall.events.cluster.*.*'];
  const user = inHub({ ...heartbeat, subscribe, mayRespond: true }, 'heartbeat');
  const thief = await connectBus(stage.hub.address, user, 'heartbeat');
  const subject = `rollcall.events.cluster.${stage.victim.clusterId}.approved`;
  thief.subscribe('rollcall.events.cluster.*.*', {
    callback: (_error, message) => void message.respond('{"stream":"EVENTS","seq":999999}'),
  });
  await thief.flush();
  const approver = await stage.hub.connectWith(inHub(serviceRoles.approver, 'approver'), 'approver');
  const answers: string[] = [];
  approver.subscribe('_INBOX_approver.mine', {
    callback: (_error, message) => void answers.push(message.string()),
  });
  approver.publish(subject, '{}', { reply: '_INBOX_approver.mine' });
  await expect.poll(() => answers.join()).toContain('999999');
  await thief.close();
});

test('with roll-up headers allowed one service empties the dead letters of all', async () => {
  const letter = {
    service: 'registrar',
    subject: 's',
    sequence: 1,
    code: 'INTERNAL',
    message: 'm',
    deliveries: 1,
  };
  const jsm = await jetstreamManager(await stage.hub.connectAsOperator());
  await jsm.streams.update('DEAD', { allow_rollup_hdrs: true });
  const registrar = await stage.hub.connectAs('registrar');
  await registrar.request('rollcall.dead.registrar.1', JSON.stringify(letter), { timeout: 5000 });
  await using thief = await stage.steal('projector');
  const own = { subject: 'rollcall.dead.projector.1', headers: { 'Nats-Rollup': 'all' }, body: 'gone' };
  expect(await thief.isRefused(own)).toBe(false);
  const ops = await stage.hub.connectAs('inspector');
  await expect.poll(() => readDeadLetters(ops)).toEqual([]);
});

test('a log that believes any epoch shows the section of the thief for ever', async () => {
  const { clusterId, agent } = stage.victim;
  const section = {
    state: 'ready',
    key: agent.key.publicKey,
    cause: 'Alive',
    joinedAtMs: 1,
    sinceMs: 1,
    lastHeartbeatAtMs: 1,
  };
  const message = forgedEvent('ready', section)(stage);
  const body = JSON.stringify({ ...(JSON.parse(message.body ?? '') as object), epoch: 1_000_000 });
  await using thief = await stage.steal('heartbeat');
  expect(await thief.isRefused({ ...message, body })).toBe(false);
  const believing = await openEventLog(await stage.hub.connectAs('approver'), {
    epoch: 1,
    source: '/rollcall/test',
  });
  await decideAs(stage.approverLog, clusterId, 'approved');
  const aggregate = { kind: 'cluster', id: clusterId } as const;
  expect(clusterRecord(await believing.read(aggregate)).newest?.epoch).toBe(1_000_000);
  expect((await stage.victimRecord()).newest?.type).toBe('approved');
});

test('without its policy a stolen projector has a cluster leave by deleting it', async () => {
  await using hub = await startGuardedHub();
  const projector = hub.service('projector');
  const finalizers = ['rollcall.dev/leave'];
  await projector.create(resources.managedClusters, aProjection('c', {}, { finalizers }));
  await hub.admin.delete(resources.validatingAdmissionPolicyBindings, 'rollcall-services-delete');
  await expect
    .poll(() => outcomeOf(projector.delete(resources.managedClusters, 'c')), { timeout: 30_000 })
    .toBe('allowed');
  const left = await hub.admin.get(resources.managedClusters, { name: 'c' });
  expect(left?.metadata.deletionTimestamp).toBeDefined();
});
