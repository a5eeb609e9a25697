import { once } from 'node:events';
import { Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { LivePart, LiveSnapshot } from './live-snapshot.ts';

/** A connection that is dead without a word is noticed by writing to it. */
const stillHereMs = 15_000;

const asText = ({ id, messages }: LivePart): string =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(messages)}\n\n`;

/**
 * The stream of one page: server-sent events, compressed. What the page does not take in time is not piled up here: the next part is
 * asked for when there is room again.
 */
export function liveStream(
  snapshot: LiveSnapshot,
  lastId: string | undefined,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const gzip = createGzip({ level: 3 });
  const send = async (text: string): Promise<void> => {
    const hasRoom = gzip.write(text);
    // Without this the last changes would wait in the compressor for the next ones.
    gzip.flush(constants.Z_SYNC_FLUSH);
    if (!hasRoom) await once(gzip, 'drain', { signal: either });
  };
  const alive = setInterval(() => {
    // Where that fills it the page may be gone before there is room; then nobody waits for it.
    if (!gzip.writableNeedDrain) void send(': still here\n\n').catch(() => undefined);
  }, stillHereMs);
  gzip.once('close', () => ending.abort());
  async function pump(): Promise<void> {
    try {
      await send('retry: 1000\n\n');
      for await (const part of snapshot.follow(lastId, either)) await send(asText(part));
    } catch (error) {
      if (!either.aborted) gzip.destroy(error instanceof Error ? error : new Error(String(error)));
    } finally {
      clearInterval(alive);
      gzip.end();
    }
  }
  void pump();
  return Readable.toWeb(gzip) as ReadableStream<Uint8Array>;
}
