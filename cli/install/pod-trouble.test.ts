import { expect, test } from 'vitest';
import { isBeingMade, podTrouble, stepAfter } from './pod-trouble.ts';
import type { ContainerStatus } from './workloads.ts';

const container = (status: Partial<ContainerStatus>) => ({
  containerStatuses: [{ name: 'agent', ...status }],
});
const oom = { reason: 'OOMKilled', exitCode: 137 };

test.each([
  { name: 'nothing known yet', status: {}, want: undefined },
  {
    name: 'being made',
    status: container({ state: { waiting: { reason: 'ContainerCreating' } } }),
    want: undefined,
  },
  { name: 'running', status: container({ ready: true, state: {} }), want: undefined },
  {
    name: 'no node for it',
    status: {
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes: taints' },
      ],
    },
    want: 'not scheduled: 0/3 nodes: taints',
  },
  {
    name: 'no image',
    status: container({ state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } } }),
    want: 'container agent: ImagePullBackOff: not found',
  },
  {
    name: 'crashing',
    status: container({
      restartCount: 3,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
      lastState: { terminated: { reason: 'Error', exitCode: 2 } },
    }),
    want: 'container agent: CrashLoopBackOff: back-off 40s; it ended with 2 (Error)',
  },
  {
    name: 'too little memory, and running again',
    status: container({ restartCount: 1, state: {}, lastState: { terminated: oom } }),
    want: 'container agent: started again, it ended with 137 (OOMKilled)',
  },
  {
    name: 'ended with an error that it says',
    status: container({
      restartCount: 1,
      state: {},
      lastState: {
        terminated: { exitCode: 3, message: '{"level":"info"}\nerror: one\nerror: refused\nhint: no\n' },
      },
    }),
    want: 'container agent: started again, it ended with 3: refused',
  },
  {
    name: 'prepared at the second try',
    status: {
      initContainerStatuses: [
        {
          name: 'streams',
          restartCount: 1,
          state: { terminated: { reason: 'Completed', exitCode: 0 } },
          lastState: { terminated: { reason: 'Error', exitCode: 3 } },
        },
      ],
    },
    want: undefined,
  },
])('a pod: $name', ({ status, want }) => {
  expect(podTrouble({ apiVersion: 'v1', kind: 'Pod', metadata: {}, status })).toBe(want);
});

test.each([
  { name: 'nothing of it yet', status: { phase: 'Pending' }, want: true },
  {
    name: 'no volumes yet',
    status: { phase: 'Pending', ...container({ state: { waiting: { reason: 'ContainerCreating' } } }) },
    want: true,
  },
  {
    name: 'no image',
    status: { phase: 'Pending', ...container({ state: { waiting: { reason: 'ImagePullBackOff' } } }) },
    want: false,
  },
  { name: 'running', status: { phase: 'Running', ...container({ state: {} }) }, want: false },
])('a pod that is being made: $name → $want', ({ status, want }) => {
  expect(isBeingMade({ apiVersion: 'v1', kind: 'Pod', metadata: {}, status })).toBe(want);
});

test.each([
  { trouble: 'container service: ErrImagePull: not found', want: 'Put the image' },
  { trouble: 'Pod a: FailedMount: secret "rollcall-nats" not found', want: 'Install again with the keys' },
  { trouble: 'it ended with 3 (Error): AuthorizationError: Authorization Violation', want: 'Install again' },
  {
    trouble: 'PersistentVolumeClaim data-rollcall-nats-0: FailedBinding: none',
    want: '`kubectl get storage',
  },
  {
    trouble: 'not scheduled: pod has unbound immediate PersistentVolumeClaims',
    want: '`kubectl get storage',
  },
  { trouble: 'container service: OOMKilled', want: '`kubectl --namespace rollcall-system describe' },
])('after $trouble: $want', ({ trouble, want }) => expect(stepAfter(trouble)).toContain(want));
