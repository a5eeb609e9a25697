import type { NatsConnection } from '@nats-io/transport-node';
import { type EventLog, followEvents, openEventLog, streamState } from '@rollcall/shared/bus';
import { draft, tokenDeclared } from '@rollcall/shared/events';
import { createLogger } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aDeclaration } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { giveHistory } from '../history/give-history.ts';

let hub: TestHub;
let ops: NatsConnection;
let log: EventLog;
let approver: EventLog;
beforeAll(async () => {
  hub = await startTestHub();
  const logger = createLogger({ service: 'projector', level: 'info', file: `${hub.stateDir}/projector.log` });
  giveHistory(await hub.connectAs('projector'), logger);
  ops = await hub.connectAs('ops');
  log = await openEventLog(ops, { epoch: 1, source: '/rollcall/test' });
  approver = await hub.openLog('approver');
  for (const id of ['one', 'two', 'three']) await declare(id);
});
afterAll(() => hub[Symbol.asyncDispose]());

async function declare(id: string): Promise<void> {
  const token = { kind: 'token', id } as const;
  const what = { reason: 'Declared', message: 'm', section: aDeclaration({ name: id }) };
  await approver.append([draft(tokenDeclared, await approver.read(token), what)], { correlation: 'test' });
}

test('who only watches reads the whole history, its end, records, and what follows', async () => {
  const events = await Array.fromAsync(log.scan({ filter: 'token.*.*' }));
  expect(events.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
  expect(await streamState(ops, 'EVENTS')).toMatchObject({ messages: 3, lastSequence: 3 });
  expect((await log.read({ kind: 'token', id: 'two' })).head?.sequence).toBe(2);
  expect(await log.readAll('token.*.*')).toHaveLength(3);
  const stop = new AbortController();
  const heard: string[] = [];
  for await (const { id } of followEvents(ops, log, { fromSequence: 3, signal: stop.signal })) {
    heard.push(id);
    if (id === 'three') await declare('four');
    if (id === 'four') stop.abort();
  }
  expect(heard).toEqual(['three', 'four']);
});

/** @returns the status of the answer, and its reason */
async function ask(question: unknown): Promise<string> {
  const body = typeof question === 'string' ? question : JSON.stringify(question);
  const { headers } = await ops.request('rollcall.history.read', body, { timeout: 5000 });
  return `${headers?.code ?? 0} ${headers?.description ?? ''}`;
}

test.each([
  { name: 'more events than a page has', question: { seq: 1, batch: 1001 } },
  {
    name: 'more subjects than a page has',
    question: { multi_last: Array(501).fill('rollcall.events.>'), batch: 1 },
  },
  { name: 'no bound', question: { seq: 1 } },
  { name: 'something that is no event', question: { seq: 1, batch: 1, next_by_subj: 'rollcall.facts.*' } },
  { name: 'a field of JetStream that is none of these', question: { seq: 1, batch: 1, max_bytes: 1 } },
  { name: 'garbage', question: '{' },
])('$name is refused', async ({ question }) => {
  expect(await ask(question)).toBe('408 Bad Request');
});

test('who asks for more pages at once than are read is told so, and is answered later', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => ask({ seq: 1, batch: 1000 })));
  expect(answers.some((answer) => answer.startsWith('429'))).toBe(true);
  expect(answers.some((answer) => !answer.startsWith('429'))).toBe(true);
  await expect.poll(() => ask({ state: true })).toBe('0 ');
});
