import { afterAll, beforeAll, describe, test } from 'vitest';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** The read-only user of people, and the one that makes the streams. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const byOps: readonly BusAttack[] = [
  { name: 'approve a cluster', publish: forgedEvent('approved', {}) },
  { name: 'write any event', publish: forgedEvent('noticed', {}) },
  { name: 'report liveness', publish: ({ victim }) => ({ subject: `rollcall.live.${victim.clusterId}` }) },
  { name: 'write facts', publish: ({ victim }) => ({ subject: `rollcall.facts.${victim.clusterId}` }) },
  { name: 'write a dead letter', publish: () => ({ subject: 'rollcall.dead.registrar.1' }) },
  ...onJetStream('make a consumer', 'CONSUMER.CREATE.EVENTS.mine', { body: '{}' }),
  ...onJetStream('delete a message', 'STREAM.MSG.DELETE.DEAD', { body: '{"seq":1}' }),
  { name: 'answer for a service', subscribe: '$SRV.>' },
  { name: 'answer into a service’s inbox', publish: () => ({ subject: '_INBOX_approver.x' }) },
  { name: 'hear what agents ask', subscribe: 'rollcall.request.*.*' },
  { name: 'hear what agents are answered', subscribe: 'rollcall.reply.*.>' },
];

describe('with the user of people nobody can', () => {
  test.each(byOps)('$name', async (attack) => {
    await using thief = await stage.steal('ops');
    await expectRefused(stage, thief, attack);
  });
});

const bySetup: readonly BusAttack[] = [
  ...onJetStream('delete a stream', 'STREAM.DELETE.EVENTS'),
  ...onJetStream('purge one', 'STREAM.PURGE.FACTS'),
  ...onJetStream('overwrite one from a snapshot', 'STREAM.RESTORE.EVENTS', { body: '{}' }),
  ...onJetStream('delete a consumer', 'CONSUMER.DELETE.EVENTS.approver'),
  ...onJetStream('make a stream beside ours', 'STREAM.CREATE.MINE', { body: '{}' }),
  { name: 'write an event', publish: forgedEvent('approved', {}) },
  { name: 'hear events', subscribe: 'rollcall.events.>' },
];

describe('with the user that makes the streams nobody can', () => {
  test.each(bySetup)('$name', async (attack) => {
    await using thief = await stage.steal('setup');
    await expectRefused(stage, thief, attack);
  });
});
