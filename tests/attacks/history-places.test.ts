import { setTimeout as delay } from 'node:timers/promises';
import { streamState } from '@rollcall/shared/bus';
import { draft, tokenDeclared } from '@rollcall/shared/events';
import { createLogger } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { giveHistory } from '../../services/projector/history/give-history.ts';
import { aDeclaration } from '../harness/events.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** One holder of ops.creds asks for pages all the time: every other one read nothing at all, not even how long the history is. */
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
  const logger = createLogger({ service: 'projector', level: 'info', file: `${hub.stateDir}/p.log` });
  giveHistory(await hub.connectAs('projector'), logger);
  const approver = await hub.openLog('approver');
  for (let at = 0; at < 1000; at++) {
    const token = { kind: 'token', id: `t-${at}` } as const;
    const what = { reason: 'Declared', message: 'm'.repeat(900), section: aDeclaration({ name: `t-${at}` }) };
    await approver.append([draft(tokenDeclared, { aggregate: token, head: undefined }, what)], {
      correlation: 'test',
    });
  }
});
afterAll(() => hub[Symbol.asyncDispose]());

test('who only watches reads the end of the history while another one asks for pages all the time', async () => {
  const ops = await hub.connectAs('ops');
  await streamState(ops, 'EVENTS');
  await using thief = await connectRaw(hub, hub.credentialsOf('ops'));
  const question = {
    subject: 'rollcall.history.read',
    reply: '_INBOX_ops.nobody',
    body: JSON.stringify({ seq: 1, batch: 1000 }),
  };
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      await thief.send(Array.from({ length: 8 }, () => question));
      await delay(20);
    }
  })();
  await delay(500);
  // Eight tries of the CLI, each of which asks again for five seconds.
  const outcomes: string[] = [];
  for (let tried = 0; tried < 3; tried++)
    outcomes.push(await streamState(ops, 'EVENTS').then(() => 'read', String));
  stop.abort();
  await asking;
  expect(outcomes).toEqual(outcomes.map(() => 'read'));
});
