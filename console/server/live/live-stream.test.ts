import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Gzip } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { LivePart, LiveSnapshot } from './live-snapshot.ts';
import { liveStream } from './live-stream.ts';

test('a page that reads nothing, and goes while it is told that the console is still here, ends nobody', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const made = vi.spyOn(Readable, 'toWeb');
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note);
    made.mockRestore();
    vi.useRealTimers();
  });
  const gzip = () => made.mock.calls[0]?.[0] as Gzip;
  const full = Promise.withResolvers<void>();
  async function* follow(_: string | undefined, signal: AbortSignal): AsyncGenerator<LivePart> {
    // What cannot be compressed, until the compressor holds some back; then all but a few bytes of its room.
    const part = (text: string) => ({ messages: [text as never] });
    for (let sent = 0; sent < 100 && gzip().writableLength === 0; sent++) {
      yield part(randomBytes(5000).toString('base64'));
      await turn();
    }
    const room = gzip().writableHighWaterMark - gzip().writableLength - 5;
    yield part('x'.repeat(room - 'data: [""]\n\n'.length));
    full.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  const snapshot = { follow } as Partial<LiveSnapshot> as LiveSnapshot;
  const stream = liveStream(snapshot, undefined, new AbortController().signal);
  await full.promise;
  expect(gzip().writableNeedDrain).toBe(false);
  vi.advanceTimersByTime(15_000);
  expect(gzip().writableNeedDrain).toBe(true);
  await stream.cancel();
  for (let turns = 0; turns < 10; turns++) await turn();
  expect(unhandled).toEqual([]);
});
