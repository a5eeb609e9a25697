import { expect, test } from 'vitest';
import { isAccepted, parseVersion } from './version-accepted.mjs';

test.each([
  { name: 'nats-server', output: 'nats-server: v2.15.2\n', want: '2.15.2' },
  {
    name: 'etcd, which prints the version of Go too',
    output: 'etcd Version: 3.6.16\nGo Version: go1.26.8\n',
    want: '3.6.16',
  },
  { name: 'kube-apiserver', output: 'Kubernetes v1.36.3\n', want: '1.36.3' },
  {
    name: 'kubectl, which prints the version of Kustomize too',
    output: 'Client Version: v1.36.3\nKustomize Version: v5.8.1\n',
    want: '1.36.3',
  },
  { name: 'build metadata is dropped', output: 'Kubernetes v1.36.1+k3s1', want: '1.36.1' },
  { name: 'a suffix stays', output: 'Kubernetes v1.36.0-rc.1', want: '1.36.0-rc.1' },
  { name: 'an address is no version', output: 'listening on 127.0.0.1', want: undefined },
  { name: 'nothing', output: '', want: undefined },
])('parseVersion: $name → $want', ({ output, want }) => {
  expect(parseVersion(output)).toBe(want);
});

const range = { from: '2.15.2', below: '3.0.0' };
test.each([
  { version: '2.15.1', want: false },
  { version: '2.15.2', want: true },
  { version: '2.15.10', want: true },
  { version: '2.16.0', want: true },
  { version: '2.16.0-RC.3', want: false },
  { version: '2.16.0-eks-abc123', want: true },
  { version: '2.9.99', want: false },
  { version: '3.0.0', want: false },
  { version: '10.0.0', want: false },
])('isAccepted: $version within >= 2.15.2 and < 3.0.0 is $want', ({ version, want }) => {
  expect(isAccepted(version, range)).toBe(want);
});
