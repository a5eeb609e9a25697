import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, startStage } from './stage.ts';

/**
 * A request that named a reply subject left a note of it in the server, a KiB, for two to four minutes: there it waited for an answer to
 * that subject, and the hub answers to one of its own. 200 a second are no flood, and who had a token for many agents filled the memory.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('a reply subject in a request leaves nothing behind in the server', async () => {
  const { nc, key } = stage.victim.agent;
  const before = await stage.keptInMind('REGISTRAR');
  const subject = `rollcall.request.${key.publicKey}.renew`;
  for (let at = 0; at < 100; at++)
    nc.publish(subject, 'x', { reply: `rollcall.reply.${key.publicKey}.${at}` });
  await nc.flush();
  expect(await stage.keptInMind('REGISTRAR')).toBe(before);
});
