import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { encodeHeartbeat } from '@rollcall/shared/bus';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { serveInProcess } from '../../../tests/harness/service-process.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import {
  admitMember,
  sendHeartbeat,
  keepSendingHeartbeats,
  type Member,
  startHeartbeat,
  type Surroundings,
  surroundingsOf,
} from './test-member.ts';

/** What a connection may have waiting at the server before it is given up; by default 64 MB. */
const smallQueue = 'max_pending: 1MB\nmax_payload: 256KB\nwrite_deadline: "500ms"\n';

let hub: TestHub;
let around: Surroundings;
beforeAll(async () => {
  hub = await startTestHub();
  await hub.natsServer.restartChanged((config) => config.replaceAll(/^max_payload.*$/gm, '') + smallQueue);
  around = await surroundingsOf(hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

const fast = { intervalSeconds: 1, graceSeconds: 3 };
const logOf = (name: string) => readFileSync(join(hub.stateDir, 'logs', `${name}.log`), 'utf8');
const slowConsumers = () => logOf('nats-server').split('Slow Consumer').length - 1;

async function aliveMembers(name: string): Promise<Member[]> {
  return Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const member = await admitMember(around, `${name}-${index}`, fast);
      const nc = await member.connect();
      const stop = keepSendingHeartbeats(nc, member.clusterId);
      onTestFinished(async () => {
        stop();
        await nc.close();
      });
      await member.event('joined');
      return member;
    }),
  );
}

/** One that goes away is found dead: time passes, and what passes for the others is the same time. */
async function seesADeath(name: string): Promise<void> {
  const mortal = await admitMember(around, name, fast);
  const nc = await mortal.connect();
  sendHeartbeat(nc, mortal.clusterId);
  await mortal.event('joined');
  await nc.close();
  await mortal.event('unreachable');
}

/** The service that is stopped is alone when it goes on: nobody can tell it what it has missed. */
async function pastEveryGrace(name: string): Promise<void> {
  const witness = await startHeartbeat(hub);
  await seesADeath(name);
  await witness.stop();
}

async function startProcess(label: string) {
  const settings = { ...hub.serviceSettings('heartbeat') };
  const child = await serveInProcess('heartbeat', { label, stateDir: hub.stateDir, settings });
  onTestFinished(() => child.stop());
  return {
    pause: () => process.kill(child.pid, 'SIGSTOP'),
    goOn: () => process.kill(child.pid, 'SIGCONT'),
  };
}

/** A member sends heartbeats as fast as it can until the server has given up whoever does not read. */
async function floodUntilGivenUp(): Promise<void> {
  const member = await admitMember(around, 'flooder', fast);
  await using nc = await member.connect();
  const before = slowConsumers();
  const one = encodeHeartbeat({ flags: 0, agentTimeMs: 0 });
  while (slowConsumers() === before) {
    for (let at = 0; at < 5000; at++) nc.publish(`rollcall.heartbeat.${member.clusterId}`, one);
    await nc.flush();
    await nextTurn();
  }
}

test('an event loop that stands still past every grace makes nobody unreachable', async () => {
  const service = await startProcess('stalled');
  const members = await aliveMembers('stalled');
  service.pause();
  await pastEveryGrace('meanwhile-1');
  service.goOn();
  await seesADeath('after-1');
  for (const member of members) expect(await member.history()).toEqual(['joined']);
  expect(logOf('stalled')).toContain('process was paused');
});

test('a service that the server gave up as a slow consumer makes nobody unreachable', async () => {
  const service = await startProcess('slow');
  const members = await aliveMembers('slow');
  service.pause();
  await floodUntilGivenUp();
  await pastEveryGrace('meanwhile-2');
  service.goOn();
  await vi.waitFor(() => expect(logOf('slow')).toContain('heartbeats are heard again'), 30_000);
  await seesADeath('after-2');
  for (const member of members) expect(await member.history()).toEqual(['joined']);
});
