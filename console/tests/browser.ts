import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../tools/setup/provide-chromium.mjs';

export const chromiumPath = findChromium(process.env);

/** Where the screenshots of the views go; `ROLLCALL_CONSOLE_SCREENSHOTS` says where else. */
const screenshots =
  process.env['ROLLCALL_CONSOLE_SCREENSHOTS'] ?? join(tmpdir(), 'rollcall-console-screenshots');

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface Person extends AsyncDisposable {
  readonly page: Page;
  /** What the page, or its policy, complained about. */
  readonly complaints: readonly string[];
}

/**
 * A person with a browser of their own, before the page that the link opens.
 * @param more - flags of this browser
 */
export async function openBrowser(link: string, more: readonly string[] = []): Promise<Person> {
  const profile = mkdtempSync(join(tmpdir(), 'rollcall-chromium-'));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: [...flags, ...more],
    chromiumSandbox: false,
    viewport: { width: 1440, height: 900 },
    colorScheme: 'light',
    timezoneId: 'UTC',
  });
  const [page = await context.newPage()] = context.pages();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // What the server of the page refuses is shown by the page; tests of refusals look there.
    const isRefusal = new URL(message.location().url || link).pathname.startsWith('/api/');
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
  });
  await page.goto(link);
  return {
    page,
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export const screenshotBase = (name: string): string => join(screenshots, name);

/** A screenshot of what is seen now, in both colours. */
export async function takeScreenshots(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(250);
    await page.screenshot({ path: `${screenshotBase(name)}-${colorScheme}.png` });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}
