import { expect, test } from 'vitest';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { checkMember, checkName, checkVersion } from './check-member.ts';

test.each(['v1.28.0', 'v1.36.3', '1.30.1+k3s1', 'v1.28.4-gke.100', 'v2.0.0'])(
  '%s is new enough',
  (version) => {
    expect(checkVersion(version)).toBe(`Kubernetes ${version}`);
  },
);

test.each(['v1.27.99', 'v0.99.0', '', 'something'])('"%s" is too old', (version) => {
  expect(() => checkVersion(version)).toThrow(expect.objectContaining({ code: 'MEMBER_TOO_OLD' }));
});

test('a member that does not know who asks was reached: it is no matter of the network', async () => {
  const access = { server: 'https://member:6443' } as KubeClient['access'];
  const raw = () => Promise.resolve({ status: 401, body: '', date: undefined });
  const { outcomes } = await checkMember({ access, raw }, undefined);
  expect(outcomes).toMatchObject([
    { error: { code: 'MEMBER_FORBIDDEN', hint: expect.stringContaining('401') } },
  ]);
});

test.each(['kube-system', 'rollcall-agent', 'default'])(
  'the reserved name %s is refused before anybody asks',
  async (given) => {
    const access = { contextName: 'in-cluster' } as KubeClient['access'];
    expect(await checkName(access, { given, clusterId: 'id-1' })).toMatchObject({
      error: { code: 'CLUSTER_NAME_RESERVED' },
    });
  },
);
