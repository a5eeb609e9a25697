import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secretKeyStore } from '@rollcall/agent';
import { type KubeClient, type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { expect, onTestFinished, test } from 'vitest';
import { newAgentState } from '../../agent/keys/own-keys.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestControlPlane } from '../harness/control-plane.ts';
import { startTestEmbeddedHub, until } from '../harness/embedded.ts';

type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const namesIn = async (client: KubeClient, namespace: string) =>
  (await client.list(resources.secrets, { namespace })).map(({ metadata }) => metadata.name);

/** Lays the Secrets of members where they lay before each kind had a namespace of its own. */
async function layTogether(client: KubeClient): Promise<void> {
  for (const namespace of [namespaces.agents, namespaces.kubeconfigs])
    for (const { metadata, data } of await client.list<Secret>(resources.secrets, { namespace })) {
      const { name, labels = {} } = metadata;
      const before = { name, namespace: namespaces.join, labels };
      await client.create<Secret>(resources.secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: before,
        ...(data ? { data } : {}),
      });
      await client.delete(resources.secrets, name, { namespace });
    }
}

test('Secrets of members that lie beside the tokens are moved at the start, and the members stay who they are', async () => {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-moved-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const stateDir = join(base, 'hub');
  await using member = await startTestControlPlane({ withManifests: false });
  const hubKubeconfig = join(base, 'hub.kubeconfig');
  const toMember = ['--member-kubeconfig', member.plane.adminKubeconfigPath];
  let key: string | undefined;
  let thief = '';
  {
    await using hub = await startTestEmbeddedHub({ stateDir });
    writeFileSync(hubKubeconfig, kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
    const joined = await runCli(['join', 'edge', ...toMember, '--kubeconfig', hubKubeconfig]);
    expect(joined.code, joined.stderr).toBe(0);
    key = (await hub.untilReady('edge')).status?.keyFingerprint;
    await hub.up.services.find(({ name }) => name === 'agent-host')?.stop();
    await layTogether(hub.up.admin);
    // Of a member that never was in: somebody made them up.
    await hub.up.admin.create(resources.managedClusters, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedCluster',
      metadata: { name: 'planned' },
      spec: { clusterId: 'planned', mode: 'Push', kubeconfigSecret: 'planned-kubeconfig' },
    } as KubeObject);
    const metadata = { name: 'rollcall-agent-planned', namespace: namespaces.join };
    await hub.up.admin.create(resources.secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
    // Of one that is in, with its agent elsewhere: whoever may write beside the tokens lays keys that it has.
    const token = await hub.createToken();
    await hub.startAgent({ name: 'elsewhere', token: token.text });
    const { spec, metadata: of } = await hub.untilReady('elsewhere');
    const operation = { spec: { kubeconfigSecret: 'elsewhere-kubeconfig' } };
    await hub.up.admin.mergePatch(resources.managedClusters, of.name, operation);
    thief = `rollcall-agent-${spec.clusterId}`;
    await secretKeyStore(hub.up.admin, { namespace: namespaces.join, name: thief }).save(
      newAgentState({ clusterId: spec.clusterId ?? '', hubId: hub.up.hub.hubId }),
    );
  }

  const said: string[] = [];
  await using hub = await startTestEmbeddedHub({ stateDir, onProgress: (text) => said.push(text) });
  const { admin } = hub.up;
  const { clusterId = '' } = (await hub.cluster('edge'))?.spec ?? {};
  expect(await namesIn(admin, namespaces.kubeconfigs)).toEqual(['edge-kubeconfig']);
  expect(await namesIn(admin, namespaces.agents)).toContain(`rollcall-agent-${clusterId}`);
  expect(await namesIn(admin, namespaces.agents)).not.toContain('rollcall-agent-planned');
  expect(await namesIn(admin, namespaces.join)).toEqual(['rollcall-agent-planned', thief].toSorted());
  expect(await namesIn(admin, namespaces.agents)).not.toContain(thief);
  expect(said.filter((text) => text.includes(thief))).toEqual([expect.stringContaining('left where it is')]);
  await until('the hub reaches the member again', async () => {
    const found = await admin.get<Secret>(resources.secrets, {
      name: `rollcall-agent-${clusterId}.token`,
      namespace: namespaces.agents,
    });
    return found !== undefined || (await hub.cluster('edge'))?.status?.lastSeen === 'live';
  });
  expect((await hub.untilReady('edge')).status?.keyFingerprint).toBe(key);
  const left = await runCli(['unregister', 'edge', '--kubeconfig', hubKubeconfig]);
  expect(left.code, left.stderr).toBe(0);
  await until(
    'the hub keeps nothing of it',
    async () => (await namesIn(admin, namespaces.agents)).length === 0,
  );
});
