import type { NatsConnection } from '@nats-io/transport-node';
import { createLogger } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { giveHistory } from '../../services/projector/history/give-history.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** 1,000 events of 256 KiB were one page, four of them at a time, all held by the projector. */
let hub: TestHub;
let projector: NatsConnection;
beforeAll(async () => {
  hub = await startTestHub();
  const logger = createLogger({ service: 'projector', level: 'info', file: `${hub.stateDir}/p.log` });
  projector = await hub.connectAs('projector');
  giveHistory(projector, logger);
});
afterAll(() => hub[Symbol.asyncDispose]());

test('a page is no larger than a screen full needs, however large events are', async () => {
  await using thief = await connectRaw(hub, hub.credentialsOf('heartbeat'));
  const body = 'x'.repeat(250_000);
  for (let at = 0; at < 120; at++)
    await thief.send([{ subject: `rollcall.events.cluster.c-${at}.ready`, body }]);
  const ops = await hub.connectAs('ops');
  let bytes = 0;
  const end = Promise.withResolvers<void>();
  ops.subscribe('_INBOX_ops.page', {
    callback: (_error, { data }) => {
      bytes += data.length;
      if (data.length === 0) end.resolve();
    },
  });
  await ops.flush();
  const before = projector.stats().inBytes;
  ops.publish('rollcall.history.read', JSON.stringify({ seq: 1, batch: 1000 }), { reply: '_INBOX_ops.page' });
  await end.promise;
  expect(bytes).toBeLessThan(8 * 1024 * 1024);
  // What is not given is not read either.
  expect(projector.stats().inBytes - before).toBeLessThan(8 * 1024 * 1024);
}, 60_000);
