import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documents, readDocument, shellBlocks } from './markdown.ts';
import { pageExpectations, pagesInOrder, pagesNotRun } from './page-expectations.ts';
import { firstLine, follow, notRunBlocks, type Reader, startReader } from './reader.ts';
import type { RunningShell } from './shell.ts';

/**
 * Runs every command of docs/ against one hub, as a reader would who goes through the pages in the order of docs/README.md.
 * What a block must print stands in page-expectations.ts; a block that is new in a page fails until it stands there too.
 */

const withCommands = documents().filter(
  (path) => path !== 'README.md' && shellBlocks(readDocument(path)).length > 0,
);
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

test('every document with commands is one whose commands are run or named here', () => {
  expect(withCommands).toEqual(pagesInOrder.toSorted());
});

// A page that belongs to the hub's whole life, `npm start` to Ctrl-C, starts it itself; the others go on with that one.
test(`${firstPage} begins with a hub`, () => {
  expect(pagesInOrder[0]).toBe(firstPage);
  expect(shellBlocks(readDocument(firstPage))[0]?.script).toBe('npm start');
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

  test('every block is expected, and nothing else is', () => {
    expect(toRun.map(({ script }) => firstLine(script)).toSorted()).toEqual(Object.keys(expected).toSorted());
    expect(notRunBlocks(blocks)).toEqual(pagesNotRun[page] ?? {});
  });

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
