import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestControlPlane } from '../harness/control-plane.ts';
import { startTestEmbeddedHub, until } from '../harness/embedded.ts';
import { startServiceProcess } from '../harness/service-process.ts';

test('an agent host that is killed while a cluster leaves removes the account in the member when it is back [KA-2]', async () => {
  await using hub = await startTestEmbeddedHub();
  await using member = await startTestControlPlane({ withManifests: false, ownPlane: true });
  const kubeconfigOf = (name: string, access: Parameters<typeof kubeconfigYaml>[0]) => {
    const path = join(hub.up.stateDir, `${name}.kubeconfig`);
    writeFileSync(path, kubeconfigYaml(access), { mode: 0o600 });
    return path;
  };
  const toHub = ['--kubeconfig', kubeconfigOf('hub-admin', hub.up.plane.access)];
  const toMember = ['--member-kubeconfig', kubeconfigOf('member-admin', member.plane.access)];
  const secretsOnHub = async () => {
    const found = await hub.up.admin.list<KubeObject>(resources.secrets, { namespace: 'rollcall-agents' });
    return found.map(({ metadata }) => metadata.name);
  };
  await hub.up.services.find(({ name }) => name === 'agent-host')?.stop();
  const first = await startServiceProcess(hub.up, 'agent-host', { replica: 1 });
  let second: typeof first | undefined;
  try {
    const joined = await runCli(['join', 'edge', ...toMember, ...toHub]);
    expect(joined.code, joined.stderr).toBe(0);
    const { spec } = await hub.untilReady('edge');

    // Nothing can be removed while the member is away, so the host is killed in the middle of it.
    await member.plane.kill('kube-apiserver');
    const left = await runCli(['unregister', 'edge', ...toHub]);
    expect(left.code, left.stderr).toBe(0);
    await first.kill();
    expect(await secretsOnHub()).toEqual([`rollcall-agent-${spec.clusterId}`]);
    await member.plane.restart('kube-apiserver');
    expect(await member.admin.get(resources.clusterRoleBindings, { name: 'rollcall-agent' })).toBeDefined();

    second = await startServiceProcess(hub.up, 'agent-host', { replica: 2 });
    await until('the account in the member is gone', async () => {
      const binding = await member.admin.get(resources.clusterRoleBindings, { name: 'rollcall-agent' });
      const namespace = await member.admin.get(resources.namespaces, { name: 'rollcall-agent' });
      return binding === undefined && namespace?.metadata.deletionTimestamp !== undefined;
    });
    await until('the hub keeps nothing of it', async () => (await secretsOnHub()).length === 0);
  } finally {
    await first.stop();
    await second?.stop();
  }
});
