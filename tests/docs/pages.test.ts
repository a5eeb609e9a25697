import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocument, shellBlocks } from './markdown.ts';
import { pageExpectations, pagesInOrder } from './page-expectations.ts';
import { firstLine, follow, type Reader, startReader } from './reader.ts';
import type { RunningShell } from './shell.ts';

/**
 * Runs every command of docs/ against one hub, as a reader would who goes through the pages in the order of docs/README.md.
 * What a block must print stands in page-expectations.ts; page-list.test.ts says whether every block stands there.
 */

const firstPage = 'docs/getting-started.md';

let reader: Reader;
const running: { shell: RunningShell; printsLater: readonly RegExp[] }[] = [];

beforeAll(async () => {
  reader = await startReader('docs');
});

/** The newest first: agents say goodbye to a hub that still hears them. */
async function interruptAll(): Promise<void> {
  for (const { shell } of running.splice(0).toReversed()) await shell.interrupt();
}

afterAll(async () => {
  await interruptAll();
  await reader[Symbol.asyncDispose]();
});

describe.each(pagesInOrder)('%s', (page) => {
  const blocks = shellBlocks(readDocument(page));
  const toRun = blocks.filter(({ notRun }) => notRun === undefined);
  const expected = pageExpectations[page] ?? {};
  // A terminal of its own for each page, with what the first page exports.
  const exports = [...new Set([firstPage, page])]
    .flatMap((path) => shellBlocks(readDocument(path)))
    .flatMap(({ script }) => script.split('\n'))
    .filter((line) => line.startsWith('export '));

  const named = toRun.map(({ script }) => ({ command: firstLine(script), script }));
  test.each(named)('$command', async ({ command, script }) => {
    const expectation = expected[command] ?? { prints: [] };
    const followed = await follow(reader.start(script, exports), expectation);
    expect(followed.problem).toBeUndefined();
    if (followed.running)
      running.push({ shell: followed.running, printsLater: expectation.printsLater ?? [] });
  });

  test('what goes on has printed what follows', async () => {
    for (const { shell, printsLater } of running) {
      for (const pattern of printsLater) {
        await shell.untilPrinted(pattern);
        expect(shell.output()).toMatch(pattern);
      }
    }
  });
});

test('nothing is left behind', async () => {
  await interruptAll();
  expect((await reader.leftOver()).length).toBeLessThanOrEqual(1);
});
