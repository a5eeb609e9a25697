import { expect, test } from 'vitest';
import { linesOf } from './would-be-applied.ts';

interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}
const of = (
  name: string,
  outcome: 'created' | 'changed' | 'unchanged',
  { kind = 'Deployment', differences = [] }: { kind?: string; differences?: Difference[] } = {},
) => ({ kind, name, namespace: 'rollcall-system', outcome, differences });

test('says what would be new, each that would change with its fields and values, and how many stay', () => {
  const differences = [
    { path: 'spec.type', before: 'NodePort', after: 'LoadBalancer' },
    { path: 'spec.ports', before: [1], after: [1, 2] },
    { path: 'spec.nodePort', before: 31422, after: undefined },
    { path: 'spec.long', before: 'x'.repeat(61), after: 'y' },
    { path: 'spec.fifth', before: 1, after: 2 },
  ];
  const all = [of('new', 'created'), of('nats', 'changed', { differences }), of('approver', 'unchanged')];
  expect(linesOf(all)).toEqual([
    'Deployment new: would be created',
    'Deployment nats: would be changed (spec.type: NodePort → LoadBalancer, spec.ports, spec.nodePort: 31422 → none, spec.long, 1 more)',
    '1 object: unchanged',
  ]);
});

test('says no value of a Secret, and of nothing nothing', () => {
  const differences = [{ path: 'data.key', before: 'c2VjcmV0', after: 'b3RoZXI=' }];
  const [line] = linesOf([of('keys', 'changed', { kind: 'Secret', differences })]);
  expect(line).toBe('Secret keys: would be changed (data.key)');
  expect(linesOf([])).toEqual([]);
});
