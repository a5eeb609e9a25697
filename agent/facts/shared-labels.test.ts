import { expect, test } from 'vitest';
import { sharedLabels } from './shared-labels.ts';

const nodes = (count: number, ...labels: string[]) => Array.from({ length: count }, () => ({ labels }));

test.each([
  { name: 'exactly the threshold', all: [...nodes(4, 'pool=gpu'), ...nodes(1)], want: { pool: 'gpu' } },
  { name: 'one node less', all: [...nodes(3, 'pool=gpu'), ...nodes(2, 'pool=cpu')], want: {} },
  { name: 'all of them, asked for all', all: nodes(3, 'pool=gpu'), percent: 100, want: { pool: 'gpu' } },
  { name: 'all but one, asked for all', all: [...nodes(9, 'pool=gpu'), ...nodes(1)], percent: 100, want: {} },
  { name: 'asked for none', all: nodes(3, 'pool=gpu'), percent: 0, want: {} },
  { name: 'no nodes', all: [], want: {} },
  { name: 'a label without a value', all: nodes(1, 'a.dev/role='), want: { role: '' } },
  {
    name: 'the name of the only machine',
    all: nodes(1, 'kubernetes.io/hostname=one', 'kubernetes.io/os=linux'),
    want: { os: 'linux' },
  },
  {
    name: 'keys that end alike',
    all: nodes(2, 'a.dev/pool=1', 'node.rollcall.dev/pool=3', 'pool=2', 'b.dev/zone=2', 'a.dev/zone=1'),
    want: { pool: '3', zone: '1' },
  },
])('$name → $want [CN-7]', ({ all, percent = 80, want }) => {
  expect(sharedLabels(all, percent)).toEqual(want);
});

test('of more than the hub takes, those that people gave come first [CN-7]', () => {
  const given = Array.from({ length: 40 }, (_, index) => `a.dev/l${String(index).padStart(2, '0')}=x`);
  const names = Object.keys(sharedLabels(nodes(2, ...given, 'pool=gpu', 'node.rollcall.dev/z=1'), 80));
  expect(names).toHaveLength(32);
  expect(names).toEqual(expect.arrayContaining(['pool', 'z', 'l00', 'l29']));
});
