import { createInbox } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, startStage } from './stage.ts';

/**
 * For each question to services that who only watches asked, the server kept a KiB in mind for each service, two to four minutes long and
 * although it was answered: asked as fast as a connection takes it, its memory was full within a minute.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

test('what ops ask of services is forgotten by the server within seconds', async () => {
  const nc = await stage.hub.connectAs('ops');
  const reply = createInbox('_INBOX_ops');
  let answers = 0;
  nc.subscribe(reply, { callback: () => void answers++ });
  for (let at = 0; at < 100; at++) nc.publish('$SRV.PING', '', { reply });
  await expect.poll(() => answers, { timeout: 5000 }).toBe(100);
  await expect.poll(() => stage.keptInMind('REGISTRAR'), { timeout: 20_000, interval: 1000 }).toBe(0);
  await nc.close();
}, 60_000);
