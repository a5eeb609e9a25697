import { readDeadLetters } from '@rollcall/shared/bus';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** On the bus; what it can do in Kubernetes: kubernetes-escalation.test.ts. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const attacks: readonly BusAttack[] = [
  { name: 'approve a cluster', publish: forgedEvent('approved', { verdict: 'approved' }) },
  { name: 'write liveness', publish: forgedEvent('ready', { state: 'ready' }) },
  {
    name: 'say that access was taken away',
    publish: forgedEvent('deprovisioned', { state: 'deprovisioned' }),
  },
  { name: 'write any event at all', publish: forgedEvent('shown', {}) },
  {
    name: 'write facts',
    publish: ({ victim }) => ({ subject: `rollcall.facts.${victim.clusterId}`, body: '{}' }),
  },
  { name: 'hear what others append', subscribe: 'rollcall.events.>' },
  { name: 'hear agents', subscribe: 'rollcall.request.*.*' },
  { name: 'read the approver’s inbox', subscribe: '_INBOX_approver.>' },
  {
    name: 'acknowledge the approver’s events',
    publish: () => ({ subject: '$JS.ACK.EVENTS.approver.1.1.1.1.1', body: '+ACK' }),
  },
  {
    name: 'write dead letters in the approver’s name',
    publish: () => ({ subject: 'rollcall.dead.approver.1', body: '{}' }),
  },
  ...onJetStream('purge what is dead', 'STREAM.PURGE.DEAD'),
];

describe('with the projector’s identity nobody can', () => {
  test.each(attacks)('$name', async (attack) => {
    await using thief = await stage.steal('projector');
    await expectRefused(stage, thief, attack);
  });
});

test('it cannot empty the dead letters of others by what it may write itself', async () => {
  const letter = {
    service: 'registrar',
    subject: 's',
    sequence: 1,
    code: 'INTERNAL',
    message: 'm',
    deliveries: 1,
  };
  const registrar = await stage.hub.connectAs('registrar');
  await registrar.request('rollcall.dead.registrar.1', JSON.stringify(letter), { timeout: 5000 });
  await using thief = await stage.steal('projector');
  for (const scope of ['all', 'sub']) {
    await thief.isRefused({
      subject: 'rollcall.dead.projector.1',
      headers: { 'Nats-Rollup': scope },
      body: JSON.stringify(letter),
    });
  }
  const letters = await readDeadLetters(await stage.hub.connectAs('inspector'));
  expect(letters).toEqual([expect.objectContaining({ service: 'registrar' })]);
});
