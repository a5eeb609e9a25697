import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resources, type KubeObject } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { pods } from '../../cli/install/workloads.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { hubServices } from '../charts/one-machine.ts';
import { conditionOf } from '../harness/embedded.ts';
import { hubNamespace, type InstalledHub, startInstalledHub } from './installed-hub.ts';
import { tellPodsWhenFailed } from './node-cluster.ts';
import { untilOnNodes } from './until-on-nodes.ts';

const inHub = ['--namespace', hubNamespace] as const;

describe.skipIf(inject('nodes').whyNot)('what fails on a node', () => {
  let hub: InstalledHub;
  beforeAll(async () => {
    hub = await startInstalledHub(1, {
      services: { registrar: { replicas: 2 }, heartbeat: { replicas: 2 } },
    });
  });
  afterAll(async () => hub?.[Symbol.asyncDispose]());
  tellPodsWhenFailed(() => hub);

  /** What became of the readiness of the hub's own cluster, which sends heartbeats all the time. */
  const readinessDuring = (work: () => Promise<void>) => hub.readinessDuring('local', work);
  const labelled = (...names: string[]) => `app.kubernetes.io/name in (${names.join(',')})`;
  const deletePods = (...names: string[]) =>
    hub.kubectl(...inHub, 'delete', 'pods', '--wait', '--selector', labelled(...names));
  const allServices = hubServices.map((service) => `rollcall-${service}`);
  const podsOf = (name: string) =>
    hub.admin.list<KubeObject & { metadata: { uid: string } }>(pods, {
      namespace: hubNamespace,
      labelSelector: labelled(name),
    });
  const untilStartedAgain = (restarts: number) =>
    untilOnNodes(
      `containers were started ${restarts} times again`,
      async () => (await hub.restarts(hubNamespace)) >= restarts,
    );
  async function withoutNats(work: () => Promise<void>): Promise<void> {
    await hub.kubectl(...inHub, 'scale', 'statefulset', 'rollcall-nats', '--replicas=0');
    await hub.kubectl(...inHub, 'wait', '--for=delete', 'pod/rollcall-nats-0', '--timeout=120s');
    await work();
    await hub.kubectl(...inHub, 'scale', 'statefulset', 'rollcall-nats', '--replicas=1');
  }

  test.each([...allServices, 'rollcall-nats'])(
    'a container of %s that is killed, as when memory runs out, takes no cluster out of Ready',
    async (name) => {
      expect(
        await readinessDuring(async () => {
          const before = await hub.restarts(hubNamespace);
          const killed = await podsOf(name);
          for (const { metadata } of killed) await hub.killContainers(metadata);
          await untilStartedAgain(before + killed.length);
        }),
      ).toBe('Ready');
    },
  );

  test.each([...allServices, 'rollcall-nats'])('nor does a pod of %s that is deleted', async (name) => {
    expect(await readinessDuring(async () => void (await deletePods(name)))).toBe('Ready');
  });

  test('every service ends by itself when it is told to, also while NATS is away', async () => {
    const codes = new Map<string, string>();
    expect(
      await readinessDuring(() =>
        withoutNats(async () => {
          const watching = watchExitCodes(hub, codes);
          await deletePods(...allServices);
          watching.kill();
          await once(watching, 'exit');
        }),
      ),
    ).toBe('Ready');
    expect([...codes.keys()].length).toBeGreaterThanOrEqual(hubServices.length);
    // 137: it was killed when its time was up.
    expect([...codes].filter(([, code]) => code === '137')).toEqual([]);
  });

  test('the node can be drained, also while NATS is away and nobody is ready', async () => {
    expect(
      await readinessDuring(() =>
        withoutNats(async () => {
          const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=180s'];
          await hub.kubectl('drain', 'node-1', ...flags);
          await hub.kubectl('uncordon', 'node-1');
        }),
      ),
    ).toBe('Ready');
  });

  test('an API server that is killed comes back to a hub that goes on, and that says so of its own cluster', async () => {
    await hub.kill('kube-apiserver');
    await hub.startAgain('kube-apiserver');
    await hub.untilAllRun();
    // It is the API server of the member as well, so this one may have been told as not Ready for a moment.
    expect(conditionOf(await hub.readiness('local', 'True'), 'Ready')?.reason).toBe('Alive');
  });

  test('names are not resolved while NATS starts again', async () => {
    const scaleNames = (replicas: number) =>
      hub.kubectl('--namespace', 'kube-system', 'scale', 'deployment', 'coredns', `--replicas=${replicas}`);
    expect(
      await readinessDuring(async () => {
        await scaleNames(0);
        try {
          await deletePods('rollcall-nats');
          const runs = async () => {
            const [pod] = await hub.admin.list<KubeObject<unknown, { phase?: string }>>(pods, {
              namespace: hubNamespace,
              labelSelector: labelled('rollcall-nats'),
            });
            return pod?.status?.phase === 'Running';
          };
          await untilOnNodes('NATS runs again', runs);
        } finally {
          await scaleNames(1);
        }
      }),
    ).toBe('Ready');
  });

  test('an image that is not there is told by name, what runs goes on, and the right one goes on from there', async () => {
    const install = (...flags: string[]) =>
      hub.rollcall(
        'install',
        'hub',
        '--keys',
        hub.keys,
        '--values',
        hub.hubValues,
        '--advertise',
        hub.hubAddress,
        ...flags,
      );
    expect(
      await readinessDuring(async () => {
        const failed = await install('--image', 'rollcall:not-there', '--timeout', '20s');
        expect(failed.code).not.toBe(0);
        expect(failed.stderr).toContain('(image rollcall:0.1.0), to become 0.1.0 (image rollcall:not-there)');
        expect(failed.stderr).toMatch(/does not run .*rollcall:not-there/);
        expect((await hub.admin.list(resources.managedClusters, {})).length).toBe(1);
        const mended = await install('--timeout', '4m');
        expect(mended.code, mended.stderr).toBe(0);
      }),
    ).toBe('Ready');
  });

  test('the power of the node goes, and comes back', async () => {
    expect(
      await readinessDuring(async () => {
        await hub.crash();
        const crashedAt = new Date();
        await hub.start();
        // Until the kubelet says so, the pods are shown as they were.
        const areNew = () => hub.allStartedSince(crashedAt);
        await untilOnNodes('no container of before the crash is shown', areNew);
      }),
    ).toBe('Ready');
  });
});

/** Exit code of each pod of the hub that ends, as the kubelet shows it before the pod is gone. */
function watchExitCodes(hub: InstalledHub, codes: Map<string, string>): ChildProcess {
  const line = '{.metadata.name} {.status.containerStatuses[0].state.terminated.exitCode}{"\\n"}';
  const args = [
    '--kubeconfig',
    hub.kubeconfig,
    ...inHub,
    'get',
    'pods',
    '--watch',
    '--output',
    `jsonpath=${line}`,
  ];
  const child = spawn(findBinary('kubectl'), args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [name, code] of text.split('\n').map((one) => one.split(' ')))
      if (name && code) codes.set(name, code);
  });
  return child;
}
