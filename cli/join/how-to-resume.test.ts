import { expect, test } from 'vitest';
import { howToGoOn } from './how-to-resume.ts';

test.each([
  {
    what: 'nothing but the name',
    flags: { mode: 'Push' },
    want: 'the hub goes on: `rollcall join edge-1 --mode Push` waits again, `rollcall unregister edge-1` undoes it',
  },
  {
    what: 'files and contexts, one of them quoted, also under the names that Karmada has for them',
    flags: { mode: 'Pull', clusterKubeconfig: '/tmp/my files/m', karmadaContext: 'hub' },
    want: "the hub goes on: `rollcall join edge-1 --member-kubeconfig '/tmp/my files/m' --context hub --mode Pull` waits again, `rollcall unregister edge-1 --member-kubeconfig '/tmp/my files/m' --context hub` undoes it",
  },
] as const)('the commands say what was given: $what', ({ flags, want }) => {
  expect(howToGoOn('edge-1', flags)).toBe(want);
});
