import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decideAs } from '../harness/events.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { declareToken } from '../harness/events.ts';
import { type Stage, startStage } from './stage.ts';

/** A stolen provisioner replies with nothing but a header that nats.js cannot take apart: that ended the reading of the registrar's connection. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value | 'nothing'> {
  return Promise.race([work, delay(ms, 'nothing' as const)]);
}

test('an empty reply with a header that cannot be read ends no connection’s reading', async () => {
  const { hub, victim, approverLog } = stage;
  await decideAs(approverLog, victim.clusterId, 'approved', { access: 'Namespace' });
  const provisioner = await hub.connectAs('rbac-provisioner');
  await using thief = await connectRaw(hub, hub.credentialsOf('rbac-provisioner'));
  const asked = Promise.withResolvers<string>();
  provisioner.subscribe('rollcall.access.mint', {
    callback: (_error, message) => asked.resolve(message.reply ?? ''),
  });
  await provisioner.flush();
  const body = { clusterId: victim.clusterId, sealTo: `X${'A'.repeat(55)}` };
  void victim.agent.request('access', body);
  const reply = await asked.promise;
  expect(await thief.send([{ subject: reply, headers: { 'a b': 'x' } }])).toBe(1);
  await delay(500);
  const facts = { clusterId: victim.clusterId, facts: { kubernetesVersion: 'v1.36.3' } };
  const answered = await within(20_000, victim.agent.request('facts', facts));
  expect.soft(answered).toMatchObject({ result: { kind: 'done' } });
  const token = await declareToken(approverLog, hub.hub.hubId);
  const joined = await within(
    20_000,
    connectWithToken(hub, token).then(async (agent) => {
      await agent.nc.close();
      return 'let in';
    }, String),
  );
  expect(joined).toBe('let in');
}, 60_000);
