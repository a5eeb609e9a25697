import { expect, test } from 'vitest';
import { latestOnly } from '../latest-only.ts';
import type { ClusterRow, PastMessage } from '../../rows/index.ts';
import { pastStream, type PastReading, type ReadPast } from './past-stream.ts';

const atMs = Date.parse('2026-11-27T04:00:00Z');
const rows = Array.from({ length: 2500 }, (_, index): ClusterRow => ({
  name: `edge-${index}`,
  state: 'ready',
  reason: 'Alive',
  sinceMs: 1,
}));

/** Says that many events, then the fleet. */
const ofEvents =
  (count: number): ReadPast =>
  async ({ onEvent }) => {
    for (let number = 1; number <= count; number++) onEvent({ timeMs: number }, number);
    return { clusters: rows, policies: ['default'], notes: [] };
  };

async function read(readPast: ReadPast, options: { signal?: AbortSignal; most?: number } = {}) {
  const latest = latestOnly(options.signal ?? new AbortController().signal);
  const text = await new Response(pastStream(readPast, { ...options, atMs, latest })).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as PastMessage);
}

test('how far it is read comes first, then the fleet in parts, then that it is whole', async () => {
  const messages = await read(ofEvents(40_000));
  expect(messages.map(({ kind }) => kind)).toEqual([
    'reading',
    'reading',
    'clusters',
    'clusters',
    'clusters',
    'whole',
  ]);
  expect(messages.flatMap((one) => (one.kind === 'clusters' ? one.rows : []))).toEqual(rows);
});

test('a history beyond the bound is not read, and the line that reads it is said', async () => {
  expect(await read(ofEvents(11), { most: 10 })).toEqual([
    {
      kind: 'refused',
      refusal: expect.objectContaining({
        message: expect.stringContaining('rollcall get clusters --at 2026-11-27T04:00:00.000Z'),
      }),
    },
  ]);
  expect((await read(ofEvents(10), { most: 10 })).at(-1)).toMatchObject({ kind: 'whole' });
});

test('a reading that another one overtakes ends, and says so', async () => {
  const other = new AbortController();
  const messages = await read(
    async ({ onEvent }) => {
      other.abort();
      onEvent({ timeMs: 1 }, 1);
      throw new Error('it went on');
    },
    { signal: other.signal },
  );
  expect(messages).toMatchObject([{ kind: 'refused', refusal: { code: 'USAGE' } }]);
});

test('with the page that goes away the reading ends', async () => {
  const started = Promise.withResolvers<PastReading>();
  const stream = pastStream(
    (reading) => {
      started.resolve(reading);
      return new Promise((_resolve, reject) =>
        reading.signal.addEventListener('abort', () => reject(new Error('closed'))),
      );
    },
    { atMs, latest: latestOnly(new AbortController().signal) },
  );
  const reader = stream.getReader();
  const reading = reader.read();
  const { signal } = await started.promise;
  await reader.cancel();
  expect([signal.aborted, (await reading).done]).toEqual([true, true]);
});

test('a fleet that was read, and that nobody takes, goes with the next question', async () => {
  const latest = latestOnly(new AbortController().signal);
  const kindsOf = async (stream: ReadableStream) =>
    (await new Response(stream).text())
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as PastMessage).kind);
  const wasRead = Promise.withResolvers<void>();
  const left = pastStream(
    async () => {
      wasRead.resolve();
      return { clusters: rows, policies: [], notes: [] };
    },
    { atMs, latest },
  );
  await wasRead.promise;
  const next = pastStream(ofEvents(1), { atMs, latest });
  expect((await kindsOf(next)).at(-1)).toBe('whole');
  expect((await kindsOf(left)).at(-1)).toBe('refused');
});
