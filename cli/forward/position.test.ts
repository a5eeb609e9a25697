import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { goOnFrom, openPosition } from './position.ts';

test.each([
  {
    name: 'a hub that goes on',
    at: [9, 1],
    hub: { epoch: 1, from: Infinity, lastSequence: 20 },
    want: [9, 1],
  },
  { name: 'a shorter history', at: [9, 1], hub: { epoch: 2, from: 5, lastSequence: 6 }, want: [5, 2] },
  {
    name: 'one that has outgrown it',
    at: [9, 1],
    hub: { epoch: 2, from: 5, lastSequence: 40 },
    want: [5, 2],
  },
  {
    name: 'a restore that was not reached',
    at: [4, 1],
    hub: { epoch: 2, from: 5, lastSequence: 40 },
    want: [4, 2],
  },
  {
    name: 'a restore of long ago',
    at: [9, 2],
    hub: { epoch: 2, from: Infinity, lastSequence: 40 },
    want: [9, 2],
  },
])('after $name it goes on where nothing is left out', ({ at: [next = 0, epoch = 0], hub, want }) => {
  expect(Object.values(goOnFrom({ next, epoch }, hub))).toEqual(want);
});

test('a position is kept with its epoch, and one of an older version has the first', () => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-position-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const place = join(directory, 'position');
  expect(openPosition(place, 'k').at).toBeUndefined();
  writeFileSync(place, '7\n');
  const position = openPosition(place, 'k');
  expect(position.at).toEqual({ next: 7, epoch: 1 });
  position.at = { next: 8, epoch: 3 };
  expect(readFileSync(place, 'utf8')).toBe('8 3\n');
  expect(openPosition(place, 'k').at).toEqual({ next: 8, epoch: 3 });
});
