import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { inject } from 'vitest';
import { untilAvailable } from '../../cli/install/until-available.ts';
import { type CliResult, runCli } from '../../cli/tests/run-cli.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { type ChildHandle, startChild } from '../../cli/up/process/child-process.ts';
import { until } from '../harness/embedded.ts';
import { killAll, powerOff, removeNode } from './machine/clean-up.ts';
import { prepareCluster } from './machine/control-plane.ts';
import { dnsManifests } from './machine/dns.ts';
import { inCgroup } from './machine/engine.ts';
import { makeNamespace } from './machine/network.ts';
import { socketOf, writeNodeFiles } from './machine/node-files.ts';
import { placeOf } from './machine/places.ts';
import { run } from './machine/run.ts';

/** A cluster of one real node: control plane, kubelet, containerd, kube-proxy and CoreDNS in a network namespace of their own. */
export interface NodeCluster extends AsyncDisposable {
  /** Of the node, from the machine and from other nodes. */
  readonly address: string;
  readonly admin: KubeClient;
  readonly kubeconfig: string;
  /** With all rights. @throws Error with what it printed */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The command line, with all rights. */
  rollcall(...args: readonly string[]): Promise<CliResult>;
  /** Volumes that wait for a claim. */
  makeVolumes(count: number): Promise<void>;
  /** SIGKILL to a server of the control plane. */
  kill(server: ServerName): Promise<void>;
  /** Again after `kill`, with the same data; waits until the API server answers. */
  startAgain(server: ServerName): Promise<void>;
  /** SIGKILL to every process of the containers of a pod, as when memory runs out. */
  killContainers(pod: { readonly uid: string }): Promise<void>;
  /** As if the power went: every process of the node and of its pods ends at once. What is on its disk stays. */
  crash(): Promise<void>;
  /** Again after `crash`. */
  start(): Promise<void>;
}

export type ServerName = keyof ReturnType<typeof prepareCluster>['servers'];

const readyWithinMs = 120_000;

/**
 * Starts a cluster of one node, and waits until pods can run and find each other by name.
 * @param number - 1 to 9, of those that run at the same time
 */
export async function startNodeCluster(number: number): Promise<NodeCluster> {
  const place = placeOf(number);
  const { programs, imagesFile } = inject('nodes');
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  const files = prepareCluster(place, programs);
  const { admin } = files;
  const running = new Map<string, ChildHandle>();
  let isFirst = true;

  async function startServer(
    name: string,
    command: readonly string[],
    isReady = async () => true,
  ): Promise<void> {
    const inNetwork = ['nsenter', `--net=/run/netns/${place.name}`, '--', ...command];
    const child = await startChild({
      name,
      ...inCgroup(place.cgroup, ...inNetwork),
      stateDir: place.folder,
      logPath: join(place.folder, 'log', name),
      isReady,
      readyWithinMs,
    });
    running.set(name, child);
  }
  // The controllers wait ten seconds for this and then give up.
  const apiIsReady = async () => (await admin.raw('/readyz')).status === 200;

  const startOfPlane = (name: ServerName) =>
    startServer(name, files.servers[name], name === 'kube-apiserver' ? apiIsReady : undefined);

  async function startControlPlane(): Promise<void> {
    for (const name of Object.keys(files.servers) as ServerName[]) await startOfPlane(name);
  }
  const containerdCtr = (...args: string[]) =>
    run('ctr', '--address', socketOf(place), '--namespace', 'k8s.io', ...args);

  async function startRuntime(containerd: string): Promise<void> {
    const answers = async () => existsSync(socketOf(place)) && (await containerdCtr('version')) !== '';
    await startServer('containerd', ['containerd', '--config', containerd], answers);
    if (isFirst) await containerdCtr('images', 'import', imagesFile);
  }

  async function start(): Promise<void> {
    await makeNamespace(place);
    const { containerd, kubelet, proxy } = writeNodeFiles(place, files);
    await Promise.all([startControlPlane(), startRuntime(containerd)]);
    const ofNode = [`--hostname-override=${place.node}`, `--node-ip=${place.address}`];
    const kubeletFlags = [
      `--kubeconfig=${files.kubeconfig('kubelet')}`,
      `--root-dir=${join(place.folder, 'kubelet')}`,
    ];
    await startServer('kubelet', [programs.kubelet, `--config=${kubelet}`, ...ofNode, ...kubeletFlags]);
    await startServer('kube-proxy', [programs['kube-proxy'], `--config=${proxy}`]);
    if (isFirst) await applyManifests(admin, dnsManifests(place));
    await until('the node is Ready', async () => {
      const [node] = await admin.list<
        KubeObject & { status?: { conditions?: { type: string; status: string }[] } }
      >(resources.nodes, {});
      return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    });
    const dns = { resource: resources.deployments, namespace: 'kube-system', name: 'coredns' };
    await untilAvailable(admin, dns, readyWithinMs);
    isFirst = false;
  }

  async function end(how: (name: string) => Promise<void>): Promise<void> {
    await how(place.name);
    await Promise.all([...running.values()].map(({ whenExited }) => whenExited));
    running.clear();
  }

  const cluster: NodeCluster = {
    address: place.address,
    admin,
    kubeconfig: files.adminKubeconfig,
    kubectl: (...args) => run(findBinary('kubectl'), '--kubeconfig', files.adminKubeconfig, ...args),
    rollcall: (...args) => runCli([...args, '--kubeconfig', files.adminKubeconfig]),
    async makeVolumes(count) {
      const volumes = Array.from({ length: count }, (_, index) => {
        const path = join(place.folder, 'volumes', `${index}`);
        mkdirSync(path, { recursive: true });
        const onNode = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] };
        return {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { name: `local-${index}` },
          spec: {
            capacity: { storage: '10Gi' },
            accessModes: ['ReadWriteOnce'],
            persistentVolumeReclaimPolicy: 'Retain',
            // Of type `local`: the kubelet gives these to the group of a pod, and no hostPath.
            local: { path },
            nodeAffinity: { required: { nodeSelectorTerms: [onNode] } },
          },
        };
      });
      await applyManifests(admin, volumes as unknown as KubeObject[]);
    },
    kill: async (server) => running.get(server)?.kill(),
    startAgain: startOfPlane,
    killContainers: ({ uid }) => killAll(place.cgroup, (folder) => folder.includes(uid)),
    crash: () => end(powerOff),
    start,
    [Symbol.asyncDispose]: () => end(removeNode),
  };
  try {
    await start();
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}
