import { dataOfOperations, readShownOperations, type ShownOperation } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { confirmedProgress } from './confirmed-progress.ts';

const anOperation = (cluster: string, digest = 'd1'): ShownOperation => ({
  cluster,
  clusterId: `id-of-${cluster}`,
  operation: 'leaving',
  by: 'anna',
  digest,
});
const asked = [anOperation('a'), anOperation('b')];
const held = (id: string, operations: readonly ShownOperation[]) => ({
  id,
  limit: 5,
  operations: [...operations],
});
const confirmed = (operations: readonly ShownOperation[]) => ({
  at: '2026-11-21T12:00:00Z',
  operations: [...operations],
});

test.each([
  { name: 'not looked at yet', shown: { held: held('w-1', asked) }, want: { state: 'waiting' } },
  {
    name: 'another operation has joined before',
    shown: { held: held('w-2', [...asked, anOperation('c')]) },
    want: { state: 'joined', id: 'w-2' },
  },
  {
    name: 'one is acted on, and others are held by now',
    shown: { held: held('w-2', [anOperation('c')]), confirmed: confirmed([anOperation('b')]) },
    want: { state: 'acting', left: [anOperation('b')] },
  },
  {
    name: 'a later operation about the same cluster is another one',
    shown: { held: held('w-2', [anOperation('a', 'd2')]), confirmed: confirmed([anOperation('b', 'd2')]) },
    want: { state: 'done', left: [] },
  },
  { name: 'nothing is left', shown: {}, want: { state: 'done', left: [] } },
])('of a confirmed list: $name', ({ shown, want }) => {
  expect(confirmedProgress('w-1', asked, shown)).toEqual(want);
});

test('what is shown is read as it was written, and what is damaged is left out', () => {
  const shown = { held: held('w-1', asked), confirmed: confirmed([anOperation('c')]) };
  const data = dataOfOperations(shown) as Record<string, string>;
  expect(data['held']?.split('\n')).toHaveLength(asked.length + 3);
  expect(readShownOperations(data)).toEqual(shown);
  expect(readShownOperations({ held: '{"id":', confirmed: '[]' })).toEqual({});
  expect(dataOfOperations({})).toEqual({ held: null, confirmed: null });
});
