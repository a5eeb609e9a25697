import { dataOfWishes, readShownWishes, type ShownWish } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { confirmedProgress } from './confirmed-progress.ts';
import { someNames } from './shown-wishes.ts';

const aWish = (cluster: string, digest = 'd1'): ShownWish => ({
  cluster,
  clusterId: `id-of-${cluster}`,
  wish: 'leaving',
  by: 'anna',
  digest,
});
const asked = [aWish('a'), aWish('b')];
const held = (id: string, wishes: readonly ShownWish[]) => ({ id, limit: 5, wishes: [...wishes] });
const confirmed = (wishes: readonly ShownWish[]) => ({ at: '2026-11-21T12:00:00Z', wishes: [...wishes] });

test.each([
  { name: 'not looked at yet', shown: { held: held('w-1', asked) }, want: { state: 'waiting' } },
  {
    name: 'another wish has joined before',
    shown: { held: held('w-2', [...asked, aWish('c')]) },
    want: { state: 'joined', id: 'w-2' },
  },
  {
    name: 'one is acted on, and others are held by now',
    shown: { held: held('w-2', [aWish('c')]), confirmed: confirmed([aWish('b')]) },
    want: { state: 'acting', left: [aWish('b')] },
  },
  {
    name: 'a later wish about the same cluster is another one',
    shown: { held: held('w-2', [aWish('a', 'd2')]), confirmed: confirmed([aWish('b', 'd2')]) },
    want: { state: 'done', left: [] },
  },
  { name: 'nothing is left', shown: {}, want: { state: 'done', left: [] } },
])('of a confirmed list: $name', ({ shown, want }) => {
  expect(confirmedProgress('w-1', asked, shown)).toEqual(want);
});

test('what is shown is read as it was written, and what is damaged is left out', () => {
  const shown = { held: held('w-1', asked), confirmed: confirmed([aWish('c')]) };
  const data = dataOfWishes(shown) as Record<string, string>;
  expect(data['held']?.split('\n')).toHaveLength(asked.length + 3);
  expect(readShownWishes(data)).toEqual(shown);
  expect(readShownWishes({ held: '{"id":', confirmed: '[]' })).toEqual({});
  expect(dataOfWishes({})).toEqual({ held: null, confirmed: null });
});

test('of many clusters ten are named', () => {
  expect(someNames(['a', 'b'])).toBe('a, b');
  expect(someNames(Array.from({ length: 12 }, (_, index) => `c${index}`))).toMatch(/c9 and 2 more$/);
});
