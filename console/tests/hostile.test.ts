import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClusterDescription,
  type LiveSnapshot,
  type RunningConsole,
  startConsole,
} from '@rollcall/console';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';
import { chromiumPath, openBrowser, type Person } from './browser.ts';
import { nobodysHub } from './nobodys-hub.ts';

const markup = '<img src=x onerror=alert(1)><script>alert(1)</script>';
const reordering = 'edge\u202egnp.exe';
const control = 'edge\u001b[2J\u0000\r-1';
const long = `l${'o'.repeat(61)}g`;
const names = [markup, reordering, control, long, '../../requests', '__proto__', 'constructor', '"\'`${1}'];
const idOf = (name: string): string => `id-${names.indexOf(name)}`;
const idOfLong = idOf(long);
const manyLabels = Object.fromEntries(
  Array.from({ length: 10_000 }, (_, index) => [
    `label-${index}.example.org/${markup}`,
    `${reordering}${index}`,
  ]),
);

/** What no API server lets through: were one to, or a service to write it, it is text all the same. */
function tellLies(snapshot: LiveSnapshot): void {
  const sinceMs = Date.now();
  for (const [index, name] of names.entries()) {
    const words = { reason: markup, message: `${markup} ${reordering}` };
    const labels = index === 0 ? manyLabels : { [markup]: reordering };
    snapshot.putCluster({
      name,
      id: `id-${index}`,
      state: 'notReady',
      ...words,
      sinceMs,
      set: markup,
      version: markup,
      labels,
    });
    snapshot.putRequest({
      id: `request-${index}`,
      name,
      result: 'Held',
      ...words,
      policy: markup,
      rule: reordering,
      token: markup,
      key: markup,
      labels,
      sinceMs,
      decidedBefore: { verdict: 'Deny', by: markup, reason: reordering },
    });
    const forged = { id: `id-${index}`, name, person: markup, rule: reordering, writer: markup, ...words };
    snapshot.addEvent({ sequence: index + 1, atMs: sinceMs, type: `cluster.${markup}`, ...forged });
    snapshot.addEvent({ atMs: sinceMs, type: `live.${markup}`, ...forged });
  }
  snapshot.putHub({ kubernetes: { isHeard: true }, history: { isHeard: true }, person: markup });
}

const by = { person: markup, policy: markup, rule: reordering };
const description = (name: string): ClusterDescription => ({
  clusterId: idOf(name),
  clusterName: name,
  clientId: markup,
  phase: 'ready',
  labels: manyLabels,
  request: {
    id: '1',
    at: markup,
    token: markup,
    keyFingerprint: markup,
    droppedLabels: [],
    refusal: undefined,
  },
  decision: {
    verdict: markup,
    by,
    reason: markup,
    message: reordering,
    at: markup,
    isAboutThisRequest: true,
  },
  credentials: { keyFingerprint: markup, admittedAt: markup, revoked: [] },
  namespace: { name: markup, state: markup, access: reordering },
  liveness: {
    state: 'ready',
    cause: markup,
    joinedAt: markup,
    since: new Date().toISOString(),
    lastHeartbeat: markup,
  },
  schedulable: true,
  clusterSet: markup,
  facts: { kubernetesVersion: markup, provider: reordering, apiServerURL: 'javascript:alert(1)' },
  conditions: [
    { type: markup, status: markup, reason: markup, message: reordering, lastTransitionTime: markup },
  ],
  timeline: [
    { sequence: 1, at: new Date().toISOString(), type: markup, by, reason: markup, message: reordering },
  ],
  attempts: [],
  missing: [{ source: 'history', why: markup }],
  shown: undefined,
});

describe.skipIf(chromiumPath === undefined)('what others wrote', () => {
  const started = new AsyncDisposableStack();
  let shown: LiveSnapshot | undefined;
  /** What would answer the action "cordon". */
  const addAnswer = (of: { id: string; sequence?: number }): void =>
    shown?.addEvent({
      name: long,
      type: 'cluster.cordoned',
      writer: 'approver',
      atMs: Date.now(),
      reason: 'Forged',
      message: 'forged',
      ...of,
    });
  let running: RunningConsole;
  let person: Person;
  beforeAll(async () => {
    if (isPageStale()) await buildPage();
    const hub = {
      ...nobodysHub(),
      describe: async (name: string) => ({ description: description(name), next: [markup] }),
      readEvent: async () => ({ [markup]: reordering }),
      async act() {
        // Older than what the page knew, only heard, and of another cluster.
        addAnswer({ sequence: 1, id: idOfLong });
        addAnswer({ id: idOfLong });
        addAnswer({ sequence: 1001, id: 'id-0' });
        return 'written';
      },
    };
    const watch = async (_: unknown, snapshot: LiveSnapshot, signal: AbortSignal) => {
      shown = snapshot;
      tellLies(snapshot);
      await delay(600_000, undefined, { signal }).catch(() => undefined);
    };
    running = started.use(await startConsole(hub, { watch }));
    person = started.use(await openBrowser(running.link));
  });
  afterAll(() => started.disposeAsync());

  test.each([
    { path: '/', shows: long },
    { path: '/?by=version&q=is:cordoned%20<b>', shows: 'No cluster fits' },
    { path: '/requests', shows: markup },
    { path: '/events', shows: markup },
    { path: `/events?q=${encodeURIComponent(markup)}`, shows: markup },
    { path: `/clusters/${encodeURIComponent(reordering)}`, shows: String.raw`edge\u202egnp.exe is Ready` },
    { path: `/clusters/${encodeURIComponent(markup)}`, shows: 'Its story' },
    { path: '/clusters/..%2f..%2frequests', shows: 'Its story' },
    { path: '/clusters/%E0%A4%A', shows: 'Its story' },
  ])(
    'is text on $path: no element, no code, nothing turned around, nothing beside the page',
    async ({ path, shows }) => {
      const { page, complaints } = person;
      const { origin } = new URL(running.link);
      let dialogs = 0;
      page.on('dialog', (dialog) => {
        dialogs++;
        void dialog.dismiss();
      });
      await page.goto(`${origin}${path}`);
      await page.setViewportSize({ width: 1440, height: 700 });
      await page.locator('main').getByText(shows).filter({ visible: true }).first().waitFor();
      expect(await page.locator('main img, main script, nav img, main b b').count()).toBe(0);
      expect(
        await page.evaluate<boolean>('/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText)'),
      ).toBe(false);
      for (const width of [1440, 320]) {
        await page.setViewportSize({ width, height: 700 });
        const overflow = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect([width, overflow]).toEqual([width, 0]);
      }
      const links = await page
        .locator('a')
        .evaluateAll((all) => all.map((one) => (one as unknown as { href: string }).href));
      expect(links.filter((href) => !href.startsWith(`${origin}/`))).toEqual([]);
      expect([dialogs, complaints]).toEqual([0, []]);
    },
  );

  test('the name that is pointed at on the wall stays on the page', async () => {
    const { page } = person;
    await page.setViewportSize({ width: 320, height: 700 });
    await page.goto(`${new URL(running.link).origin}/`);
    const wall = page.locator('.wall canvas');
    await wall.scrollIntoViewIfNeeded();
    const { x: left, y: top } = (await wall.boundingBox()) ?? { x: 0, y: 0 };
    const named = new Set<string>();
    for (let x = 2; x < 280; x += 6) {
      await page.mouse.move(left + x, top + 24);
      const [words, overflow] = await page.evaluate<[string | undefined, number]>(
        '[document.querySelector(".wall .tip b")?.textContent, document.documentElement.scrollWidth - innerWidth]',
      );
      if (words !== undefined) named.add(words);
      expect([x, overflow]).toEqual([x, 0]);
    }
    expect(named).toContain(long);
  });

  test('an event that is of another cluster, or older, answers no action', async () => {
    const { page } = person;
    await page.goto(`${new URL(running.link).origin}/clusters/${encodeURIComponent(long)}`);
    await page.getByRole('button', { name: 'Cordon…' }).click();
    await page.getByRole('button', { name: /^Cordon l/ }).click();
    const panel = page.locator('form');
    await panel.getByText('written').waitFor();
    expect(await panel.getByText(/^event \d+$/).count()).toBe(0);
    // The first that is its answer comes after the others, which the page has by then.
    addAnswer({ sequence: 1000, id: idOfLong });
    await panel.getByText(/^event \d+$/).waitFor();
    expect(await panel.getByText('event 1000', { exact: true }).count()).toBe(1);
  });
});
