import type { DeadLetter } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { expect, test } from 'vitest';
import { chosenLetters } from './retry-or-drop.ts';

const aLetter = (id: number, isHeld = false): DeadLetter => ({
  id,
  isHeld,
  atMs: 0,
  service: 'approver',
  subject: 'rollcall.events.cluster.one.requested',
  sequence: id,
  code: 'UNEXPECTED',
  message: 'm',
  deliveries: 5,
});
const letters = [aLetter(1), aLetter(2, true), aLetter(3)];

function chosen(ids: readonly string[], all: boolean): readonly number[] | string {
  try {
    return chosenLetters(letters, ids, all).map(({ id }) => id);
  } catch (thrown) {
    return toRollcallError(thrown).code;
  }
}

test.each([
  { name: 'by id', ids: ['3'], all: false, want: [3] },
  { name: 'all that are dead', ids: [], all: true, want: [1, 3] },
  { name: 'nothing named', ids: [], all: false, want: 'USAGE' },
  { name: 'both', ids: ['1'], all: true, want: 'USAGE' },
  { name: 'an id that is none', ids: ['4'], all: false, want: 'NOT_FOUND' },
  { name: 'one that is held', ids: ['2'], all: false, want: 'USAGE' },
])('$name → $want', ({ ids, all, want }) => {
  expect(chosen(ids, all)).toEqual(want);
});
