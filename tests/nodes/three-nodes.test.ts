import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { pods } from '../../cli/install/workloads.ts';
import { type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { conditionOf } from '../harness/embedded.ts';
import { hubNamespace, type InstalledHub, startThreeServers, twice } from './installed-hub.ts';
import { step } from './machine/run.ts';
import { type ClusterNode, tellPodsWhenFailed } from './node-cluster.ts';
import { untilOnNodes } from './until-on-nodes.ts';

const members = ['one', 'two', 'three'] as const;

describe.skipIf(inject('nodes').whyNot)('three NATS servers on three nodes', () => {
  let hub: InstalledHub;
  let token: string;
  const agents: RunningCli[] = [];
  tellPodsWhenFailed(() => hub);
  beforeAll(async () => {
    hub = await startThreeServers();
    await onceServed(() => applyManifests(hub.admin, manifestsIn('embedded')));
    token = await makeToken();
    for (const name of members) await join(name);
  });
  afterAll(async () => {
    for (const agent of agents) await agent[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  async function makeToken(): Promise<string> {
    const made = await hub.rollcall('token', 'create', '--uses', 'unlimited', '-o', 'json', '--wait');
    expect(made.code, made.stderr).toBe(0);
    return (JSON.parse(made.stdout) as { token: string }).token;
  }

  /** An agent outside of the cluster, until the hub has it as Ready. */
  async function join(name: string): Promise<void> {
    const { caCertHash } = openHubFiles(hub.keys).read('hub');
    const member = ['--member-kubeconfig', hub.kubeconfig, '--client-id', name, '--cluster-name', name];
    const flags = ['--ca-cert-hash', caCertHash, '--run', ...member];
    const environment = { ROLLCALL_TOKEN: token };
    const ready = hub.readiness(name, 'True').then(() => undefined);
    for (;;) {
      const agent = startCli(['register', hub.hubAddress, ...flags], { environment });
      agents.push(agent);
      const ended = await Promise.race([ready, agent.result]);
      if (!ended) return;
      // Until Kubernetes knows that a node is gone, the Service sends some connections there; a kubelet starts the agent again.
      if (!ended.stderr.includes('code: HUB_UNREACHABLE')) throw new Error(ended.stderr);
    }
  }
  const readySince = async (name: string) => {
    const ready = conditionOf(await hub.cluster(name), 'Ready');
    return `${name}: ${ready?.status} since ${ready?.lastTransitionTime}`;
  };
  const allSince = () => Promise.all(members.map(readySince));
  /** On which node each pod of that name is. */
  async function nodesOf(name: string): Promise<string[]> {
    const found = await hub.admin.list<KubeObject<{ nodeName?: string }>>(pods, {
      namespace: hubNamespace,
      labelSelector: `app.kubernetes.io/name=rollcall-${name}`,
    });
    return found.map(({ spec }) => spec?.nodeName ?? '').toSorted();
  }
  const isNodeReady = async ({ name }: ClusterNode) => {
    type NodeObject = KubeObject<unknown, { conditions?: { type: string; status: string }[] }>;
    const found = await hub.admin.get<NodeObject>(resources.nodes, { name });
    return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  };

  test('each server, and each replica of a service, is on a node of its own', async () => {
    expect(await nodesOf('nats')).toEqual(hub.nodes.map(({ name }) => name));
    for (const name of twice) expect(new Set(await nodesOf(name)).size, name).toBe(2);
  });

  test('a node that loses its power takes no cluster out of Ready, others join, and all is well when it is back', async () => {
    const before = await allSince();
    const [, , node] = hub.nodes as [ClusterNode, ClusterNode, ClusterNode];
    await node.crash();
    await step('the next join after a node has lost its power', () => join('four'));
    await step('the join after that', () => join('five'));
    await step('until Kubernetes says that the node is gone', () =>
      untilOnNodes('it says so', async () => !(await isNodeReady(node))),
    );
    await step('a join after that', () => join('six'));
    expect(await allSince()).toEqual(before);
    await node.start();
    await hub.untilAllRun();
    const status = await untilOnNodes('the hub says that all is well', async () => {
      const found = await hub.rollcall('status');
      return found.code === 0 && found;
    });
    expect(status.stdout).toContain('Everything is as it should be.');
    expect(await allSince()).toEqual(before);
  });

  test('each node in turn can be drained', async () => {
    const before = await allSince();
    for (const { name } of hub.nodes) {
      const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=240s'];
      await step(`draining ${name}`, async () => {
        await hub.kubectl('drain', name, ...flags);
        await hub.kubectl('uncordon', name);
        await hub.untilAllRun();
      });
    }
    expect(await allSince()).toEqual(before);
  });
});
