import { afterAll, beforeAll, describe, test } from 'vitest';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** On the bus; what it can do in Kubernetes: kubernetes-escalation.test.ts. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const attacks: readonly BusAttack[] = [
  { name: 'approve a cluster', publish: forgedEvent('approved', { verdict: 'approved' }) },
  { name: 'raise the access of one', publish: forgedEvent('changed', { access: 'Namespace' }) },
  { name: 'unban one', publish: forgedEvent('unbanned', {}) },
  { name: 'admit a key', publish: forgedEvent('admitted', { admittedKey: 'U' }) },
  { name: 'say that a cluster is alive', publish: forgedEvent('ready', { state: 'ready' }) },
  { name: 'say that a key was cut', publish: forgedEvent('cut', {}) },
  {
    name: 'declare a token',
    publish: () => ({ subject: 'rollcall.events.token.mine.declared', body: '{}' }),
  },
  {
    name: 'declare a policy',
    publish: () => ({ subject: 'rollcall.events.policy.mine.declared', body: '{}' }),
  },
  {
    name: 'send an agent a box of its own',
    publish: ({ victim }) => ({
      subject: `rollcall.reply.${victim.agent.key.publicKey}.access`,
      body: '{}',
    }),
  },
  { name: 'ask for access itself', publish: () => ({ subject: 'rollcall.access.mint', body: '{}' }) },
  { name: 'hear what agents ask', subscribe: 'rollcall.request.*.access' },
  { name: 'hear what others append', subscribe: 'rollcall.events.cluster.*.approved' },
  { name: 'read the registrar’s inbox', subscribe: '_INBOX_registrar.>' },
  ...onJetStream('make a consumer', 'CONSUMER.DURABLE.CREATE.EVENTS.mine', { body: '{}' }),
  ...onJetStream('purge the stream', 'STREAM.PURGE.EVENTS'),
];

describe('with the provisioner’s identity nobody can', () => {
  test.each(attacks)('$name', async (attack) => {
    await using thief = await stage.steal('rbac-provisioner');
    await expectRefused(stage, thief, attack);
  });
});
