import { expect, test } from 'vitest';
import { requestOfName, wasRefusedUnjudged } from './request-of-name.ts';

const held = { result: 'Held' };
const failed = { result: 'Failed', reason: 'NamespaceTaken' };

test.each([
  { name: 'refused by the registrar', status: { result: 'Failed', reason: 'NameTaken' }, want: true },
  { name: 'let in, then failed', status: failed, want: false },
  {
    name: 'let in, then refused by Kubernetes',
    status: { result: 'Failed', reason: 'KubeApi' },
    want: false,
  },
  { name: 'held', status: held, want: false },
])('wasRefusedUnjudged: $name → $want', ({ status, want }) => {
  expect(wasRefusedUnjudged(status)).toBe(want);
});

const asked = (name: string, result: string, reason = '') => ({
  metadata: { name },
  spec: { clusterName: 'blue' },
  status: { result, reason },
});
const refused = (name: string) => asked(name, 'Failed', 'NameTaken');

test.each([
  {
    what: 'one that waits beside refused ones',
    all: [refused('x'), asked('a', 'Held'), refused('y')],
    want: 'a',
  },
  { what: 'one that is in beside a refused one', all: [asked('a', 'Approved'), refused('x')], want: 'a' },
  { what: 'one that was refused, if no other asked', all: [refused('x')], want: 'x' },
  { what: 'nobody', all: [], want: undefined },
])('a name means $what', ({ all, want }) => {
  expect(requestOfName(all, 'blue')?.metadata.name).toBe(want);
});

test('of several that were refused a name means none', () => {
  expect(() => requestOfName([refused('x'), refused('y')], 'blue')).toThrow(/give an id: x, y/);
});
