import { expect, test } from 'vitest';
import { refuseName } from './refuse-taken-name.ts';

test.each([
  { name: 'prod-1', want: undefined },
  { name: 'kube', want: undefined },
  { name: 'kube-system', want: 'CLUSTER_NAME_RESERVED' },
  { name: 'rollcall-system', want: 'CLUSTER_NAME_RESERVED' },
  { name: 'default', want: 'CLUSTER_NAME_RESERVED' },
  { name: '', want: 'CLUSTER_NAME_INVALID' },
  { name: '*', want: 'CLUSTER_NAME_INVALID' },
  { name: '>', want: 'CLUSTER_NAME_INVALID' },
  { name: 'a.b', want: 'CLUSTER_NAME_INVALID' },
  { name: 'Prod', want: 'CLUSTER_NAME_INVALID' },
  { name: '-a', want: 'CLUSTER_NAME_INVALID' },
  { name: 'a\n', want: 'CLUSTER_NAME_INVALID' },
])('"$name" → $want', ({ name, want }) => {
  expect(refuseName(name, ['default'])?.code).toBe(want);
});
