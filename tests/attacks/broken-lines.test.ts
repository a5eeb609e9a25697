import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { createNkey } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aJoin, askToJoin } from '../harness/join.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { declareToken } from '../harness/events.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { type Stage, startStage } from './stage.ts';

/**
 * The server lets through a carriage return in a subject and in the subject for an answer; nats.js took the line for one with a word too
 * many, and read nothing of that connection any more. One message of anybody who was let in to ask, and the registrar answered nobody;
 * one of a member, and the hub heard no heartbeat of its whole fleet.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Past the library, which refuses to send such a thing. */
async function sendLine(nc: NatsConnection, line: string): Promise<void> {
  const { protocol } = nc as unknown as { readonly protocol: { sendCommand(text: string): void } };
  protocol.sendCommand(`${line} 1\r\nx\r\n`);
  await nc.flush();
}

async function expectJoins(clusterId: string): Promise<void> {
  const { hub, approverLog } = stage;
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const asked = askToJoin(agent, token, aJoin(token, { clusterId, clusterName: clusterId }));
  expect(await Promise.race([asked, delay(10_000, 'nothing')])).toMatchObject({ kind: 'waiting' });
}

test.each([
  { by: 'a carriage return', reply: 'a\rb' },
  { by: 'many of them', reply: '\r\ra\r\rb\r' },
])('the registrar hears others after a request whose reply subject has $by', async ({ reply }) => {
  const { hub, approverLog } = stage;
  const token = await declareToken(approverLog, hub.hub.hubId);
  const key = createNkey('user');
  await using thief = await connectWithToken(hub, token, { key });
  await sendLine(thief.nc, `PUB rollcall.request.${key.publicKey}.join ${reply}`);
  await expectJoins(`c-${reply.length}`);
});

test('the heartbeat service hears others after such a heartbeat', async () => {
  const { hub, victim } = stage;
  const service = await hub.connectAs('heartbeat');
  const heard: string[] = [];
  service.subscribe('rollcall.heartbeat.*', {
    callback: (_error, message) => void heard.push(message.string()),
  });
  await service.flush();
  const subject = `rollcall.heartbeat.${victim.clusterId}`;
  await sendLine(victim.agent.nc, `PUB ${subject} a\rb`);
  victim.agent.nc.publish(subject, 'next');
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(2);
});

test('who hears what is stored goes on after an event whose subject is none', async () => {
  const { hub } = stage;
  await using thief = await connectRaw(hub, hub.credentialsOf('heartbeat'));
  expect(await thief.send([{ subject: 'rollcall.events.cluster.a\rb.ready', body: '{}' }])).toBe(1);
  await expectJoins('after-event');
});
