import { expect, test } from 'vitest';
import type { Action } from '../../../rows/index.ts';
import {
  type ActionTarget,
  actionOf,
  type ChosenAction,
  keysOfRequest,
  whyChanged,
} from './chosen-action.ts';

const seen: ActionTarget = { id: 'id-1', name: 'edge', key: 'one' };

test.each<{ chosen: ChosenAction; reason?: string; want: Action }>([
  {
    chosen: { verb: 'approve', target: seen },
    want: { verb: 'approve', target: 'id-1', isId: true, key: 'one' },
  },
  {
    chosen: { verb: 'approve', target: { ...seen, replaceKey: 'one' } },
    reason: 'ours',
    want: { verb: 'approve', target: 'id-1', isId: true, key: 'one', replaceKey: 'one', reason: 'ours' },
  },
  {
    chosen: { verb: 'deny', target: { ...seen, replaceKey: 'one' } },
    want: { verb: 'deny', target: 'id-1', isId: true, key: 'one' },
  },
  {
    chosen: { verb: 'move', target: seen },
    want: { verb: 'move', target: 'edge', set: 'shops' },
  },
  { chosen: { verb: 'cordon', target: seen }, want: { verb: 'cordon', target: 'edge' } },
])('to $chosen.verb sends $want', ({ chosen, reason = '', want }) => {
  expect(actionOf(chosen, { reason, set: 'shops' })).toEqual(want);
});

test.each<{ name: string; was?: ActionTarget; now: ActionTarget; want: string | undefined }>([
  { name: 'nothing', now: { ...seen }, want: undefined },
  { name: 'its key', now: { ...seen, key: 'two' }, want: 'edge asks with another key now' },
  { name: 'that it is in', now: { ...seen, replaceKey: 'one' }, want: 'edge has another key now' },
  { name: 'its request', now: { id: 'id-1', name: 'edge' }, want: 'the request of edge is gone' },
  { name: 'what its name means', now: { ...seen, id: 'id-2' }, want: 'edge is another cluster now' },
  {
    name: 'only that its request was read',
    was: { id: 'id-1', name: 'edge' },
    now: seen,
    want: undefined,
  },
])('what changed after the choice: $name', ({ was = seen, now, want }) => {
  expect(whyChanged(was, now)).toBe(want);
});

test('a key is replaced only where another one is in', () => {
  expect(keysOfRequest({ key: 'two' })).toEqual({ key: 'two' });
  expect(keysOfRequest({ key: 'two', knownKey: 'one' })).toEqual({ key: 'two', replaceKey: 'two' });
});
