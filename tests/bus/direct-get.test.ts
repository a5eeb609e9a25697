import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { directGet, directGetLast } from '../../libs/shared/bus/reads/direct-get.ts';
import { listSubjects } from '../../libs/shared/bus/reads/list-subjects.ts';
import { until } from '../harness/embedded.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** What an answer of the server leaves out is asked for, and what it cannot read is not taken for nothing. */
let hub: TestHub;
let nc: NatsConnection;
beforeEach(async () => {
  hub = await startTestHub();
  nc = await connectBus(hub.address, hub.credentialsOf('restore'), 'restore');
});
afterEach(async () => {
  await nc?.close();
  await hub?.[Symbol.asyncDispose]();
});

const subjectOf = (index: number) => `rollcall.events.cluster.c-${index}.requested`;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function write(count: number, bytes: number): Promise<void> {
  const js = jetstream(nc);
  for (let index = 0; index < count; index += 20) {
    const some = Array.from({ length: Math.min(20, count - index) }, (_, at) => subjectOf(index + at));
    await Promise.all(some.map((subject) => js.publish(subject, Buffer.alloc(bytes, 97))));
  }
}

test('the server ends an answer at 64 MiB: the rest is asked for', async () => {
  await write(400, 200_000);
  const sequences = Array.from({ length: 400 }, (_, index) => index + 1);
  const newest = await directGetLast(nc, 'EVENTS', ['rollcall.events.>']);
  expect(newest.map(({ sequence }) => sequence)).toEqual(sequences);
  const page = { seq: 1, batch: 400, next_by_subj: 'rollcall.events.>' };
  const read = await directGet(nc, 'EVENTS', page);
  expect(read.map(({ sequence }) => sequence)).toEqual(sequences);
  // No more than was asked for.
  expect(await directGet(nc, 'EVENTS', { ...page, batch: 350 })).toHaveLength(350);
});

test('an event that is there and cannot be read is an error, not nothing', async () => {
  await write(30, 2000);
  const blocks = join(hub.stateDir, 'nats', 'jetstream');
  const [block = ''] = readdirSync(blocks, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => name.endsWith('.blk') && parentPath.includes('/EVENTS/'))
    .map((file) => join(file.parentPath, file.name));
  const pid = hub.natsServer.pid();
  process.kill(pid, 'SIGINT');
  await until('it has stopped in good order, and left its index', async () => !isRunning(pid));
  await hub.natsServer.restartChanged((config) => {
    const data = readFileSync(block);
    const at = data.indexOf(subjectOf(15)) + 200;
    for (let byte = at; byte < at + 100; byte++) data[byte] = 0;
    writeFileSync(block, data);
    return config;
  });
  const answers = () =>
    nc.flush().then(
      () => true,
      () => false,
    );
  await until('the server is back', answers);
  for (const filters of [['rollcall.events.>'], [subjectOf(15)]])
    await expect(directGetLast(nc, 'EVENTS', filters)).rejects.toMatchObject({ code: 'HISTORY_LOST' });
  const scan = { seq: 1, batch: 100, next_by_subj: 'rollcall.events.>' };
  await expect(directGet(nc, 'EVENTS', scan)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  expect(await directGetLast(nc, 'EVENTS', [subjectOf(1)])).toHaveLength(1);
});

test('what was asked for on a connection that is lost is asked for again on the next one', async () => {
  await write(30, 2000);
  const pid = hub.natsServer.pid();
  process.kill(pid, 'SIGSTOP');
  const scan = { seq: 1, batch: 100, next_by_subj: 'rollcall.events.>' };
  const questions = [
    directGet(nc, 'EVENTS', scan),
    directGetLast(nc, 'EVENTS', ['rollcall.events.>']),
    Array.fromAsync(listSubjects(nc, 'EVENTS', 'rollcall.events.>')).then((pages) => pages.flat()),
  ];
  await nc.reconnect();
  process.kill(pid, 'SIGCONT');
  for (const answer of await Promise.all<unknown[]>(questions)) expect(answer).toHaveLength(30);
});
