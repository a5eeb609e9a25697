import { setTimeout as delay } from 'node:timers/promises';
import { type ClusterRow, type LiveSnapshot, startConsole } from '@rollcall/console';
import { RollcallError } from '@rollcall/shared/errors';
import { chromiumPath, openBrowser, type Person } from '../../console/tests/browser.ts';
import { pageHeap, serverHeap } from '../../console/tests/heap.ts';
import { nobodysHub } from '../../console/tests/nobodys-hub.ts';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';

/** The console and its page with a fleet that is made up: no hub is asked. */
export interface ConsoleResult {
  readonly clusters: number;
  /** From when the browser asks for the page until it has painted something. */
  readonly firstPaintMs: number;
  /** From the link until the whole fleet is drawn. */
  readonly firstViewMs: number;
  /** Between two frames while the table is scrolled and a filter is typed, and changes come. */
  readonly frames: { readonly count: number; readonly longestMs: number; readonly over50: number };
  readonly changesPerSecond: number;
  readonly seconds: number;
  /** After a collection, when the fleet was drawn and at the end. */
  readonly pageHeapBytes: readonly [first: number, last: number];
  readonly serverHeapBytes: readonly [first: number, last: number];
}

const sets = 20;
const changesPerSecond = 100;
const states = ['ready', 'ready', 'ready', 'unknown', 'notReady'] as const;

function madeUp(index: number, turn: number): ClusterRow {
  const state = turn === 0 ? 'ready' : (states[(index + turn) % states.length] ?? 'ready');
  return {
    name: `cluster-${String(index).padStart(6, '0')}`,
    id: `id-${index}`,
    state,
    reason: state === 'ready' ? 'Alive' : 'NoHeartbeats',
    sinceMs: Date.now(),
    set: `set-${index % sets}`,
    version: `v1.3${index % 4}.0`,
    nodes: [3, 3],
    labels: { region: index % 2 === 0 ? 'eu' : 'us' },
  };
}

/** All at once, then changes. */
async function watchMadeUp(clusters: number, snapshot: LiveSnapshot, signal: AbortSignal): Promise<void> {
  for (let index = 0; index < clusters; index++) snapshot.putCluster(madeUp(index, 0));
  snapshot.putHub({ kubernetes: { isHeard: true }, history: { isHeard: true } });
  for (let turn = 1; !signal.aborted; turn++) {
    for (let each = 0; each < changesPerSecond / 10; each++) {
      const index = (turn * 7919 + each * 104_729) % clusters;
      snapshot.putCluster(madeUp(index, turn));
    }
    await delay(100, undefined, { signal }).catch(() => undefined);
  }
}

/** Scrolls and types as a person does, and notes how long each frame took. */
async function measureFrames({ page }: Person): Promise<ConsoleResult['frames']> {
  await page.evaluate(`{
    const gaps = (globalThis.gaps = []);
    let before = performance.now();
    const next = (now) => { gaps.push(now - before); before = now; requestAnimationFrame(next); };
    requestAnimationFrame(next);
  }`);
  await page.getByRole('region', { name: 'Clusters' }).hover();
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, 400);
    await delay(30);
  }
  const filter = page.getByLabel('Filter clusters');
  for (const text of ['set:set-3', 'set:set-3 region=eu', 'cluster-0123', '']) {
    await filter.fill(text);
    await delay(500);
  }
  const gaps = await page.evaluate<number[]>('globalThis.gaps.slice(1)');
  return {
    count: gaps.length,
    longestMs: Math.max(...gaps),
    over50: gaps.filter((gap) => gap > 50).length,
  };
}

/** @param clusters - how many are made up */
export async function measureConsole(
  { clusters, seconds }: { clusters: number; seconds: number },
  say: (message: string) => void,
): Promise<ConsoleResult> {
  if (chromiumPath === undefined) throw new RollcallError('USAGE', 'there is no Chromium on PATH');
  if (isPageStale()) await buildPage();
  await using console = await startConsole(nobodysHub(), {
    watch: (_hub, snapshot, signal) => watchMadeUp(clusters, snapshot, signal),
  });
  say(`the console with ${clusters} clusters in a browser`);
  const from = performance.now();
  await using person = await openBrowser(console.link);
  const { page } = person;
  const name = new RegExp(`^${clusters.toLocaleString('en')} clusters, one cell each`);
  await page.getByRole('img', { name }).waitFor();
  const firstViewMs = performance.now() - from;
  const firstPaintMs = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN",
  );
  const [pageFirst, serverFirst] = [await pageHeap(person), serverHeap()];
  const frames = await measureFrames(person);
  say(`${seconds} s of ${changesPerSecond} changes a second`);
  await delay(seconds * 1000);
  const [pageLast, serverLast] = [await pageHeap(person), serverHeap()];
  return {
    clusters,
    firstPaintMs,
    firstViewMs,
    frames,
    changesPerSecond,
    seconds,
    pageHeapBytes: [pageFirst, pageLast],
    serverHeapBytes: [serverFirst, serverLast],
  };
}
