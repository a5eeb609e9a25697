import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterEach, inject } from 'vitest';
import { untilAvailable } from '../../cli/install/until-available.ts';
import { type CliResult, runCli, withKubeconfig } from '../../cli/tests/run-cli.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { killAll } from './machine/clean-up.ts';
import { type ContainerMemory, memoryOf } from './machine/memory.ts';
import { prepareCluster } from './machine/control-plane.ts';
import { dnsManifests } from './machine/dns.ts';
import { createNode, type Node, readyWithinMs } from './machine/node.ts';
import { placeOf } from './machine/places.ts';
import { run } from './machine/run.ts';
import type { NodeParts } from './provide-nodes.ts';

/** A cluster of real nodes, each in a network namespace of its own: the first one has the control plane, and pods like the others. */
export interface NodeCluster extends AsyncDisposable {
  /** Of the first node, from the machine and from other nodes. */
  readonly address: string;
  /** All nodes, the one with the control plane first. */
  readonly nodes: readonly ClusterNode[];
  readonly admin: KubeClient;
  readonly kubeconfig: string;
  /** With all rights. @throws Error with what it printed */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The command line, with all rights. */
  rollcall(...args: readonly string[]): Promise<CliResult>;
  /** Volumes that wait for a claim, so many on each node. */
  makeVolumes(count: number): Promise<void>;
  /** The same image under a second name, on every node. */
  tagImage(name: string, second: string): Promise<void>;
  /** SIGKILL to a server of the control plane. */
  kill(server: ServerName): Promise<void>;
  /** Again after `kill`, with the same data; waits until the API server answers. */
  startAgain(server: ServerName): Promise<void>;
  /** Of the servers of all nodes, for messages to people. */
  lastWords(): readonly string[];
  /** SIGKILL to every process of the containers of a pod, as when memory runs out. */
  killContainers(pod: { readonly uid: string }): Promise<void>;
  /** Of a container that runs on one of the nodes. @param id - as Kubernetes shows it */
  memoryOf(id: string): ContainerMemory | undefined;
  /** The first node without power, and the control plane with it. */
  crash(): Promise<void>;
  /** Again after `crash`. */
  start(): Promise<void>;
}

export interface ClusterNode {
  /** In Kubernetes. */
  readonly name: string;
  readonly address: string;
  /** On the machine: what a pod has that claimed the volume of this number. */
  volume(index: number): string;
  /** As if the power went: every process of the node and of its pods ends at once. What is on its disk stays. */
  crash(): Promise<void>;
  /** Again after `crash`; until it is Ready. */
  start(): Promise<void>;
}

export type ServerName = keyof ReturnType<typeof prepareCluster>['servers'];

const shownEvents = 15;
const longestLine = 180;

/**
 * With the first test that failed, what pods there are, what happened to them, and the last words of every server: what fails only on
 * another machine is not seen again.
 */
export function tellPodsWhenFailed(cluster: () => NodeCluster | undefined): void {
  let isTold = false;
  afterEach(async ({ task }) => {
    const [error] = task.result?.errors ?? [];
    const failed = cluster();
    if (error === undefined || failed === undefined || isTold) return;
    isTold = true;
    const all = ['--all-namespaces', '--no-headers'];
    const shown = async (...what: string[]) =>
      (await failed.kubectl('get', ...what, ...all).catch(String)).trimEnd().split('\n');
    const happened = await shown('events', '--sort-by=.metadata.creationTimestamp');
    const lines = [...(await shown('pods')), ...happened.slice(-shownEvents), ...failed.lastWords()];
    error.message += lines.map((line) => `\n${line.slice(0, longestLine)}`).join('');
  });
}

/**
 * Starts a cluster, and waits until pods can run and find each other by name.
 * @param number - of the node with the control plane, 1 to 9, of those that run at the same time
 * @param more - numbers of nodes beside it
 * @param parts - by default those of the set-up of the tests
 */
export async function startNodeCluster(
  number: number,
  more: readonly number[] = [],
  parts: NodeParts = inject('nodes'),
): Promise<NodeCluster> {
  const place = placeOf(number);
  const { programs, imagesFile } = parts;
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  const files = prepareCluster(place, programs);
  const { admin } = files;
  const nodes = [number, ...more].map((one) => createNode(placeOf(one), { files, programs, imagesFile }));
  const [first] = nodes as [Node];

  // The controllers wait ten seconds for this and then give up.
  const apiIsReady = async () => (await admin.raw('/readyz')).status === 200;
  const startOfPlane = (name: ServerName) =>
    first.startServer(name, files.servers[name], name === 'kube-apiserver' ? apiIsReady : undefined);

  const startControlPlane = async () => {
    for (const name of Object.keys(files.servers) as ServerName[]) await startOfPlane(name);
  };
  const untilNamesAreResolved = () =>
    untilAvailable(
      admin,
      { resource: resources.deployments, namespace: 'kube-system', name: 'coredns' },
      readyWithinMs,
    );
  async function startAll(): Promise<void> {
    const [, ...others] = nodes;
    await first.start(startControlPlane);
    await applyManifests(admin, dnsManifests(place, Math.min(nodes.length, 2)));
    await Promise.all(others.map((node) => node.start()));
    await untilNamesAreResolved();
  }
  async function startFirst(): Promise<void> {
    await first.start(startControlPlane);
    await untilNamesAreResolved();
  }

  const volumePath = ({ place: { folder } }: Node, index: number) => join(folder, 'volumes', `${index}`);
  const volumeOn = (node: Node, index: number) => {
    const path = volumePath(node, index);
    mkdirSync(path, { recursive: true });
    const onNode = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node.place.node] }],
    };
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${node.place.node}-${index}` },
      spec: {
        capacity: { storage: '10Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        // Of type `local`: the kubelet gives these to the group of a pod, and no hostPath.
        local: { path },
        nodeAffinity: { required: { nodeSelectorTerms: [onNode] } },
      },
    };
  };
  const cluster: NodeCluster = {
    address: place.address,
    nodes: nodes.map((node) => ({
      name: node.place.node,
      address: node.place.address,
      volume: (index) => volumePath(node, index),
      crash: () => node.crash(),
      start: () => (node === first ? startFirst() : node.start()),
    })),
    admin,
    kubeconfig: files.adminKubeconfig,
    kubectl: (...args) => run(findBinary('kubectl'), '--kubeconfig', files.adminKubeconfig, ...args),
    rollcall: (...args) => runCli(withKubeconfig(args, files.adminKubeconfig)),
    async makeVolumes(count) {
      const volumes = nodes.flatMap((node) =>
        Array.from({ length: count }, (_, index) => volumeOn(node, index)),
      );
      await applyManifests(admin, volumes as unknown as KubeObject[]);
    },
    async tagImage(name, second) {
      const whole = (image: string) => `docker.io/library/${image}`;
      await Promise.all(
        nodes.map((node) => node.ctr('images', 'tag', '--force', whole(name), whole(second))),
      );
    },
    kill: (server) => first.kill(server),
    startAgain: startOfPlane,
    lastWords: () => nodes.flatMap((node) => node.lastWords()),
    async killContainers({ uid }) {
      for (const node of nodes) await killAll(node.place.cgroup, (folder) => folder.includes(uid));
    },
    memoryOf(id) {
      const found = nodes.map((node) => memoryOf(node.place.cgroup, id));
      return found.find((one) => one !== undefined);
    },
    crash: () => first.crash(),
    start: startFirst,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node.remove()));
    },
  };
  try {
    await startAll();
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}
