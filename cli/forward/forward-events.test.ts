import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { draft, decodeEvent, encodeEvent, epochAggregate, restored } from '@rollcall/shared/events';
import type { StoredEvent } from '@rollcall/shared/events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { join as joinOf } from '../tests/past-history.ts';
import { forwardEvents } from './forward-events.ts';

const bus = vi.hoisted(() => ({ events: [] as StoredEvent[], stop: () => {} }));
vi.mock('../events/open-bus.ts', () => ({
  sayLeftOut: () => undefined,
  async openBus() {
    const { promise, resolve } = Promise.withResolvers<void>();
    return {
      nc: {
        subscribe: () => undefined,
        isClosed: () => false,
        close: async () => resolve(),
        closed: () => promise,
      },
      log: {
        async *scan({ fromSequence = 1, filter = '' }) {
          const ofEpochs = filter.startsWith('hub.epoch.');
          for (const event of bus.events)
            if (event.sequence >= fromSequence && (!ofEpochs || event.type === 'restored')) yield event;
          if (filter === '*.*.*') setImmediate(bus.stop);
        },
      },
    };
  },
}));
vi.mock('@rollcall/shared/bus', async (original) => ({
  ...(await original<object>()),
  streamSize: () => Promise.resolve({ lastSequence: bus.events.length }),
}));
vi.mock('../stop-signal.ts', () => ({
  untilStopSignal: () => new Promise<void>((resolve) => (bus.stop = resolve)),
}));

const hourMs = 3_600_000;
const nowMs = Date.now();

/** A history of events so many hours ago; the first of an epoch says that it begins. */
const history = (...events: readonly { epoch: number; hoursAgo: number }[]): StoredEvent[] =>
  events.map(({ epoch, hoursAgo }, index) => {
    const begins = epoch > (events[index - 1]?.epoch ?? 1);
    const section = { epoch, throughSequence: index, backupTakenAtMs: 1 };
    const on = { aggregate: epochAggregate, head: undefined };
    const [request] = begins ? [draft(restored, on, { reason: 'R', message: 'm', section })] : joinOf(index);
    const stamp = { epoch, source: '/test', nowMs: nowMs - hoursAgo * hourMs, correlation: 'c' };
    const { subject, headers, body } = encodeEvent(request as NonNullable<typeof request>, stamp);
    const header = (name: string) => headers[name] ?? '';
    return decodeEvent({ subject, sequence: index + 1, header, data: body });
  });

/** Forwards all that is there. @returns the sequences that the sink was given, and what stands in the file then */
async function forwarded(position: string | undefined, events: StoredEvent[], since?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-forward-'));
  const given: number[] = [];
  const sink = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => {
      given.push(Number((JSON.parse(text) as { sequence: string }).sequence));
      response.end();
    });
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    sink.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const place = join(directory, 'position');
  if (position !== undefined) writeFileSync(place, position);
  bus.events = events;
  const to = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`;
  await forwardEvents({ to, position: place, ...(since === undefined ? {} : { since }) });
  return { given, kept: readFileSync(place, 'utf8') };
}

const day = history(
  { epoch: 1, hoursAgo: 5 },
  { epoch: 1, hoursAgo: 3 },
  { epoch: 1, hoursAgo: 0.5 },
  { epoch: 1, hoursAgo: 0 },
);
/** Six events after a backup with four. */
const restoredHub = history(
  ...Array.from({ length: 10 }, (_, index) => ({ epoch: index < 4 ? 1 : 2, hoursAgo: 0 })),
);

test.each([
  { name: 'for the first time', position: undefined, events: day, since: '1h', want: [3, 4] },
  { name: 'after four hours', position: '2 1\n', events: day, since: '1h', want: [2, 3, 4] },
  { name: 'with the file of an older version', position: '3\n', events: day, want: [3, 4] },
  {
    name: 'behind a restore that was outgrown',
    position: '9 1\n',
    events: restoredHub,
    want: [5, 6, 7, 8, 9, 10],
  },
  { name: 'in the epoch that it knows', position: '9 2\n', events: restoredHub, want: [9, 10] },
  {
    name: 'behind one that took nothing of it back',
    position: '4 1\n',
    events: restoredHub,
    want: [4, 5, 6, 7, 8, 9, 10],
  },
  { name: 'before a history that is shorter now', position: '9 1\n', events: day, want: [] },
])('a forwarder that starts $name sends $want', async ({ position, events, since, want }) => {
  const { given, kept } = await forwarded(position, events, since);
  expect(given).toEqual(want);
  expect(kept).toBe(`${events.length + 1} ${events.at(-1)?.epoch}\n`);
});
