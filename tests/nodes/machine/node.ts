import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes';
import { type ChildHandle, startChild } from '../../../cli/up/process/child-process.ts';
import { untilOnNodes } from '../until-on-nodes.ts';
import { powerOff, removeNode } from './clean-up.ts';
import type { ClusterFiles } from './control-plane.ts';
import { inCgroup } from './engine.ts';
import { makeNamespace } from './network.ts';
import { socketOf, writeNodeFiles } from './node-files.ts';
import type { Place } from './places.ts';
import type { Programs } from './programs.ts';
import { run } from './run.ts';

export const readyWithinMs = 120_000;

const lastLines = 4;

/** A machine of a cluster, with containerd, kubelet and kube-proxy; other servers of the cluster may run beside them. */
export interface Node {
  readonly place: Place;
  /** Starts a server in the network of the node. @param isReady - what is waited for */
  startServer(name: string, command: readonly string[], isReady?: () => Promise<boolean>): Promise<void>;
  /** SIGKILL to a server. */
  kill(name: string): Promise<void>;
  /** Of each of its servers, for messages to people: what ended it, and the last lines of its log. */
  lastWords(): readonly string[];
  /** The command line of its containerd. */
  ctr(...args: readonly string[]): Promise<string>;
  /** Until the API server says that it is Ready. @param startControlPlane - what else starts in it, at the same time */
  start(startControlPlane?: () => Promise<void>): Promise<void>;
  /** As if the power went: every process of the node and of its pods ends at once. What is on its disk stays. */
  crash(): Promise<void>;
  /** The same, and nothing of it stays. */
  remove(): Promise<void>;
}

interface NodeStatus {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastHeartbeatTime: string;
  }[];
}

/** Prepares the folder of a node; nothing runs yet. */
export function createNode(
  place: Place,
  { files, programs, imagesFile }: { files: ClusterFiles; programs: Programs; imagesFile: string },
): Node {
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  const ofNode = files.nodeFiles(place);
  const running = new Map<string, ChildHandle>();
  const ends = new WeakMap<ChildHandle, string>();
  let isFirst = true;

  async function end(how: (name: string) => Promise<void>): Promise<void> {
    await how(place.name);
    await Promise.all([...running.values()].map(({ whenExited }) => whenExited));
    running.clear();
  }
  const node: Node = {
    place,
    async startServer(name, command, isReady = async () => true) {
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
      void child.whenExited.then((how) => ends.set(child, how));
    },
    kill: async (name) => running.get(name)?.kill(),
    lastWords: () =>
      [...running.values()].flatMap((child) => [
        `${child.name} of ${place.node}: ${ends.get(child) ?? 'runs'}`,
        ...child.lastLogLines().slice(-lastLines),
      ]),
    ctr: (...args) => run('ctr', '--address', socketOf(place), '--namespace', 'k8s.io', ...args),
    async start(startControlPlane = async () => undefined) {
      const startedMs = Date.now();
      await makeNamespace(place);
      const { containerd, kubelet, proxy } = writeNodeFiles(place, ofNode);
      async function startRuntime(): Promise<void> {
        const answers = async () => existsSync(socketOf(place)) && (await node.ctr('version')) !== '';
        await node.startServer('containerd', ['containerd', '--config', containerd], answers);
        if (isFirst) await node.ctr('images', 'import', imagesFile);
      }
      await Promise.all([startControlPlane(), startRuntime()]);
      const names = [`--hostname-override=${place.node}`, `--node-ip=${place.address}`];
      const own = [`--kubeconfig=${ofNode.kubelet}`, `--root-dir=${join(place.folder, 'kubelet')}`];
      await node.startServer('kubelet', [programs.kubelet, `--config=${kubelet}`, ...names, ...own]);
      await node.startServer('kube-proxy', [programs['kube-proxy'], `--config=${proxy}`]);
      isFirst = false;
      await untilOnNodes(`node ${place.node} is Ready`, async () => {
        const found = await files.admin.get<KubeObject<unknown, NodeStatus>>(resources.nodes, {
          name: place.node,
        });
        const ready = found?.status?.conditions?.find(({ type }) => type === 'Ready');
        // Kubernetes tells seconds; what it said before a crash is no news.
        return ready?.status === 'True' && Date.parse(ready.lastHeartbeatTime) >= startedMs - 1000;
      });
    },
    crash: () => end(powerOff),
    remove: () => end(removeNode),
  };
  return node;
}
