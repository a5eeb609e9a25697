import { setTimeout as delay } from 'node:timers/promises';
import { type LiveSnapshot, startConsole } from '@rollcall/console';
import { describe, expect, test } from 'vitest';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';
import { chromiumPath, openBrowser } from './browser.ts';
import { pageHeap, serverHeap } from './heap.ts';
import { nobodysHub } from './nobodys-hub.ts';

const clusters = 1000;
const mebibyte = 2 ** 20;

/** As many changes and events as a batch takes, batch after batch: an hour of a busy fleet in seconds. */
async function hurry(snapshot: LiveSnapshot, signal: AbortSignal, count: { events: number }): Promise<void> {
  snapshot.putHub({ kubernetes: { isHeard: true }, history: { isHeard: true } });
  while (!signal.aborted) {
    for (let index = 0; index < clusters; index++) {
      const sequence = ++count.events;
      const [name, id, sinceMs] = [`edge-${index}`, `id-${index}`, Date.now()];
      const state = sequence % 3 === 0 ? 'unknown' : 'ready';
      snapshot.putCluster({ name, id, state, reason: 'Said', sinceMs, set: `set-${index % 7}` });
      const event = { sequence, atMs: sinceMs, type: 'cluster.ready', id, name, writer: 'heartbeat' };
      snapshot.addEvent({ ...event, reason: 'Alive', message: `heartbeat ${sequence} came` });
      if (index % 100 === 0) snapshot.count(sinceMs + sequence);
    }
    await delay(200, undefined, { signal }).catch(() => undefined);
  }
}

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  test('memory of page and server stays as it is, however much happens', async () => {
    if (isPageStale()) await buildPage();
    const count = { events: 0 };
    await using console = await startConsole(nobodysHub(), {
      watch: (_hub, snapshot, signal) => hurry(snapshot, signal, count),
    });
    await using person = await openBrowser(console.link);
    await person.page.getByRole('img', { name: /^1,000 clusters, one cell each/ }).waitFor();
    const until = async (events: number) => {
      await expect.poll(() => count.events, { timeout: 60_000 }).toBeGreaterThan(events);
    };
    const heaps = async () => ({ page: await pageHeap(person), server: serverHeap() });
    // What is kept for a while (the latest events, counts and batches) is full by then.
    await until(30_000);
    const first = await heaps();
    await until(count.events + 30_000);
    const last = await heaps();
    // Either of them that kept all events would have 3.5 MiB more, and has 0.1 to 0.3 (measured).
    expect(last.page - first.page).toBeLessThan(2 * mebibyte);
    expect(last.server - first.server).toBeLessThan(2 * mebibyte);
    await person.page.goto(new URL('/events', console.link).href);
    await person.page
      .getByText(/heartbeat \d+ came/)
      .first()
      .waitFor();
    expect(person.complaints).toEqual([]);
  });
});
