import { describe, expect, test } from 'vitest';
import { documents, readDocument, shellBlocks } from './markdown.ts';
import { pageExpectations, pagesInOrder, pagesNotRun } from './page-expectations.ts';
import { firstLine, notRunBlocks } from './reader.ts';

/** Whether pages.test.ts knows every command of docs/: without a hub, so that a new block is missed within seconds. */

const withCommands = documents().filter(
  (path) => path !== 'README.md' && shellBlocks(readDocument(path)).length > 0,
);

test('every document with commands is one whose commands are run or named here', () => {
  expect(withCommands).toEqual(pagesInOrder.toSorted());
});

// The others go on with the hub of the first one.
test(`${pagesInOrder[0]} begins with a hub`, () => {
  expect(shellBlocks(readDocument('docs/getting-started.md'))[0]?.script).toBe('npm start');
});

describe.each(pagesInOrder)('%s', (page) => {
  test('every block is expected, and nothing else is', () => {
    const blocks = shellBlocks(readDocument(page));
    const toRun = blocks.filter(({ notRun }) => notRun === undefined);
    const expected = Object.keys(pageExpectations[page] ?? {});
    expect(toRun.map(({ script }) => firstLine(script)).toSorted()).toEqual(expected.toSorted());
    expect(notRunBlocks(blocks)).toEqual(pagesNotRun[page] ?? {});
  });
});
