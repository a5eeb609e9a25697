import { expect, test } from 'vitest';
import { creationTroubles } from './creation-trouble.ts';
import type { ClusterEvent } from './workloads.ts';

const event = (kind: string, name: string, more: Partial<ClusterEvent>): ClusterEvent => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: {},
  involvedObject: { kind, name },
  reason: 'FailedCreate',
  message: 'forbidden: violates PodSecurity',
  ...more,
});

test.each([
  { name: 'nothing noted', events: [], want: [] },
  {
    name: 'a pod that may not be made, said twice',
    events: [
      event('ReplicaSet', 'rollcall-nats-5d4', { lastTimestamp: '2026-11-26T10:00:02Z', message: 'newer' }),
      event('ReplicaSet', 'rollcall-nats-5d4', { lastTimestamp: '2026-11-26T10:00:01Z', message: 'older' }),
    ],
    want: ['ReplicaSet rollcall-nats-5d4: FailedCreate: newer'],
  },
  {
    name: 'a volume that nobody provides',
    events: [
      event('PersistentVolumeClaim', 'data-rollcall-nats-0', {
        reason: 'ProvisioningFailed',
        message: 'storageclass "x" not found',
      }),
    ],
    want: ['PersistentVolumeClaim data-rollcall-nats-0: ProvisioningFailed: storageclass "x" not found'],
  },
  {
    name: 'a Secret that a pod waits for, and one that another pod of that name waited for',
    events: [
      event('Pod', 'rollcall-nats-0', {
        reason: 'FailedMount',
        message: 'secret "x" not found',
        involvedObject: { kind: 'Pod', name: 'rollcall-nats-0', uid: 'waits' },
      }),
      event('Pod', 'rollcall-nats-1', {
        reason: 'FailedMount',
        involvedObject: { kind: 'Pod', name: 'rollcall-nats-1', uid: 'former' },
      }),
    ],
    want: ['Pod rollcall-nats-0: FailedMount: secret "x" not found'],
  },
  {
    name: 'others',
    events: [
      event('ReplicaSet', 'rollcall-natsy-5d4', {}),
      event('Pod', 'rollcall-nats-0', {}),
      event('StatefulSet', 'rollcall-nats', { reason: 'SuccessfulCreate' }),
    ],
    want: [],
  },
])('$name', ({ events, want }) =>
  expect(creationTroubles('rollcall-nats', events, new Set(['waits']))).toEqual(want),
);
