import { Readable } from 'node:stream';
import { openEventLog, readStream, refillStream, streamState } from '@rollcall/shared/bus';
import { createLogger } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { giveHistory } from '../../services/projector/history/give-history.ts';
import { lineOf } from '../../cli/backup/backup.ts';
import { asMessages } from '../../cli/backup/stream-messages.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { decideAs } from '../harness/events.ts';
import { startTestHub } from '../harness/test-hub.ts';
import { type Stage, startStage } from './stage.ts';

/** A stolen service stores an event with a header whose name nats.js does not write: it read the page, and could not send it on. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
  const { hub } = stage;
  const logger = createLogger({ service: 'projector', level: 'info', file: `${hub.stateDir}/p.log` });
  giveHistory(await hub.connectAs('projector'), logger);
});
afterAll(() => stage[Symbol.asyncDispose]());

test('an event with a header that the library does not write ends neither the history of who only watches nor a restore', async () => {
  const { hub, victim } = stage;
  const ops = await hub.connectAs('ops');
  const log = await openEventLog(ops, { epoch: 1, source: '/rollcall/test' });
  const before = await Array.fromAsync(log.scan({}));
  expect(before.length).toBeGreaterThan(0);
  await using thief = await connectRaw(hub, hub.credentialsOf('heartbeat'));
  const sent = await thief.send([
    {
      subject: `rollcall.events.cluster.${victim.clusterId}.ready`,
      headers: { 'a b': 'x' },
      body: '{}',
    },
  ]);
  expect(sent).toBe(1);
  await decideAs(stage.approverLog, victim.clusterId, 'denied');
  const inspected = await hub.connectAs('inspector');
  const inspector = await openEventLog(inspected, {
    epoch: 1,
    source: '/rollcall/test',
  });
  expect((await Array.fromAsync(inspector.scan({}))).at(-1)?.type).toBe('denied');
  const after = await Array.fromAsync(log.scan({})).catch((error: unknown) => String(error));
  expect(after).not.toBeTypeOf('string');
  await using restored = await startTestHub();
  const written = await Array.fromAsync(
    readStream(inspected, 'EVENTS', (await streamState(inspected, 'EVENTS')).lastSequence),
  );
  const lines = written.map((message) => lineOf('EVENTS', message));
  const fresh = await restored.connectAsOperator();
  expect(await refillStream(fresh, asMessages(Readable.from(lines)), { sameSequences: true })).toBe(
    lines.length,
  );
});
