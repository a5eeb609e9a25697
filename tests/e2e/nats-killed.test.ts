import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** More of them than a run of all tests has time for: ROLLCALL_KILLS=200. */
const kills = Number(process.env['ROLLCALL_KILLS'] ?? 10);
/** At any moment of what follows a start. */
const longestLifeMs = 600;

let hub: TestEmbeddedHub;
const unhandled: string[] = [];
const note = (thrown: unknown) => void unhandled.push(String(thrown));
beforeAll(async () => {
  process.on('uncaughtException', note).on('unhandledRejection', note);
  hub = await startTestEmbeddedHub({ keepsNatsRunning: true });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  process.off('uncaughtException', note).off('unhandledRejection', note);
});

test('the server is killed at any moment, again and again: nothing ends with it, and everybody goes on', async () => {
  const { text: token } = await hub.createToken({ uses: 2 });
  await hub.startAgent({ name: 'before', token });
  await hub.untilReady('before');
  for (let kill = 0; kill < kills; kill++) {
    await hub.up.natsServer()?.kill();
    await hub.up.restartNats();
    // Not waited for: the next one comes while they connect, or just after.
    await delay((kill * 37) % longestLifeMs);
  }
  await until('every service is ready', async () => hub.up.services.every(({ notReady }) => !notReady()));
  await hub.startAgent({ name: 'after', token });
  await hub.untilReady('after');
  await hub.untilReady('before');
  expect(unhandled).toEqual([]);
});

test('one that nobody started again is started by who keeps it running', async () => {
  const before = hub.up.natsServer()?.pid;
  await hub.up.natsServer()?.kill();
  await until('another process runs', async () => hub.up.natsServer()?.pid !== before);
  await until('every service is ready', async () => hub.up.services.every(({ notReady }) => !notReady()));
  expect((await hub.cluster('after'))?.metadata.name).toBe('after');
});
