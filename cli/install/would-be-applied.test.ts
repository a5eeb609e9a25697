import { expect, test } from 'vitest';
import { linesOf } from './would-be-applied.ts';

const of = (name: string, outcome: 'created' | 'changed' | 'unchanged', paths: string[] = []) => ({
  kind: 'Deployment',
  name,
  namespace: 'rollcall-system',
  outcome,
  paths,
});

test('says what would be new, each that would change with its fields, and how many stay', () => {
  const changed = of('registrar', 'changed', ['spec.a', 'spec.b', 'spec.c', 'spec.d', 'spec.e']);
  expect(linesOf([of('new', 'created'), changed, of('approver', 'unchanged')])).toEqual([
    'Deployment new: would be created',
    'Deployment registrar: would be changed (spec.a, spec.b, spec.c, spec.d, 1 more)',
    '1 object: unchanged',
  ]);
});

test('says of nothing nothing', () => {
  expect(linesOf([])).toEqual([]);
});
