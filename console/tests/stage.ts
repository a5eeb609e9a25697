import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openBrowser, type Person, screenshotBase, takeScreenshots } from './browser.ts';
import { startConsoleOf } from './console-on-hub.ts';
import { type SmallFleet, startSmallFleet } from './fleet-on-hub.ts';

/** One hub with its fleet, one console, and alice before it; and what a test does with her page. */
export interface Stage extends AsyncDisposable {
  readonly fleet: SmallFleet;
  readonly alice: Person;
  readonly page: Page;
  readonly origin: string;
  go(path: string): Promise<unknown>;
  expectText(text: string | RegExp, person?: Person): Promise<void>;
  expectHeading(text: string | RegExp, person?: Person): Promise<void>;
  /** Takes screenshots of the view, and looks at it as axe and on 320 pixels. */
  expectWellMade(name: string): Promise<void>;
}

/** What axe finds wrong, in both colours. */
async function violations(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe.source);
    const results = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
    for (const { id, nodes } of results.violations)
      found.push(
        `${colorScheme} ${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
      );
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** By how much the page is wider than its window, in pixels. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

export async function setStage(): Promise<Stage> {
  await using started = new AsyncDisposableStack();
  const fleet = started.use(await startSmallFleet());
  const running = started.use(await startConsoleOf(fleet.hub, 'alice'));
  const { origin } = new URL(running.link);
  const alice = started.use(await openBrowser(running.link));
  const { page } = alice;
  const set = started.move();
  return {
    fleet,
    alice,
    page,
    origin,
    go: (path) => page.goto(`${origin}${path}`),
    expectText: (text, person = alice) => person.page.getByText(text).first().waitFor(),
    expectHeading: (text, person = alice) =>
      person.page.getByRole('heading', { level: 1, name: text }).waitFor(),
    async expectWellMade(name) {
      await takeScreenshots(page, name);
      expect(await violations(page)).toEqual([]);
      await page.setViewportSize({ width: 320, height: 640 });
      const overflow = await overflowOf(page);
      await page.screenshot({ path: `${screenshotBase(name)}-narrow.png` });
      await page.setViewportSize({ width: 1440, height: 900 });
      expect(overflow).toBe(0);
      expect(alice.complaints).toEqual([]);
    },
    [Symbol.asyncDispose]: () => set.disposeAsync(),
  };
}
