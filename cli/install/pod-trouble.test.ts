import { expect, test } from 'vitest';
import { podTrouble } from './pod-trouble.ts';
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
