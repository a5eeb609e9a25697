import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { isAvailable } from '../../cli/install/until-available.ts';
import { type Deployment, pods, statefulSets } from '../../cli/install/workloads.ts';
import { hubServices } from '../charts/one-machine.ts';
import { conditionOf } from '../harness/embedded.ts';
import type { ContainerMemory } from './machine/memory.ts';
import { type NodeCluster, startNodeCluster } from './node-cluster.ts';
import type { NodeParts } from './provide-nodes.ts';
import { untilOnNodes } from './until-on-nodes.ts';

export const charts = join(import.meta.dirname, '..', '..', 'deploy', 'charts');
export const hubNamespace = 'rollcall-system';

/** Where agents reach the hub: a port of its node. */
const nodePort = 31_422;

interface Container {
  readonly containerID?: string;
  readonly restartCount: number;
  readonly state: { readonly running?: { readonly startedAt: string } };
}

type WithContainers = KubeObject<unknown, { containerStatuses?: readonly Container[] }>;

/** Nodes on which a hub was installed; by default one, and the agent of the same cluster by the same command. */
export interface InstalledHub extends NodeCluster {
  /** What agents elsewhere are told: a port of each node. */
  readonly hubAddress: string;
  /** With the keys of the hub. */
  readonly keys: string;
  /** The file of values that it was installed with. */
  readonly hubValues: string;
  /** Writes a file of values. @returns its path */
  valuesFile(name: string, values: object | string): string;
  cluster(name: string): Promise<ManagedCluster | undefined>;
  readiness(name: string, status: 'True' | 'Unknown'): Promise<ManagedCluster>;
  /** Does something, and waits until all runs again. @returns `Ready` where the cluster was nothing else meanwhile */
  readinessDuring(name: string, work: () => Promise<void>): Promise<string>;
  /** Until NATS and all services are available. */
  untilAllRun(): Promise<void>;
  /** How often containers were started again, of all pods that are there. */
  restarts(namespace: string): Promise<number>;
  /** What each container that runs has of memory, and may have; by the name of its pod. */
  memory(namespace: string): Promise<readonly (ContainerMemory & { readonly pod: string })[]>;
  /** Whether each container of the hub's pods runs, and was started at this time or later. */
  allStartedSince(time: Date): Promise<boolean>;
}

/** How a hub gets into a cluster. */
export interface Installation {
  /** Numbers of nodes beside the first one. */
  readonly nodes?: readonly number[];
  /** Default: `rollcall install all-in-one`. */
  install?(hub: InstalledHub): Promise<void>;
  /** Default: what the set-up of the tests provides. */
  readonly parts?: NodeParts | undefined;
}

/** What every installation of a hub says. */
export const hubFlags = ({ hubAddress, keys }: InstalledHub): string[] => [
  ...hubAddress.split(',').flatMap((address) => ['--advertise', address]),
  '--keys',
  keys,
  '--timeout',
  '5m',
];

export async function installAllInOne(hub: InstalledHub): Promise<void> {
  const values = ['--hub-values', hub.hubValues];
  const installed = await hub.rollcall('install', 'all-in-one', ...values, ...hubFlags(hub));
  expect(installed.code, installed.stderr).toBe(0);
  expect(installed.stdout).toContain('cluster "local" is Ready on its own hub');
}

/** What has a second replica where one node may go. */
export const twice = [
  'registrar',
  'approver',
  'heartbeat',
  'projector',
  'account-controller',
  'rbac-provisioner',
];

/** Three NATS servers on three nodes, and no agent. */
export async function startThreeServers(parts?: NodeParts): Promise<InstalledHub> {
  const services = Object.fromEntries(twice.map((name) => [name, { replicas: 2 }]));
  return startInstalledHub(1, { services }, { nodes: [2, 3], install: installThreeServers, parts });
}

async function installThreeServers(hub: InstalledHub): Promise<void> {
  const flags = ['--servers', '3', '--values', hub.hubValues, ...hubFlags(hub)];
  const installed = await hub.rollcall('install', 'hub', ...flags);
  expect(installed.code, installed.stderr).toBe(0);
}

/**
 * @param number - of the node
 * @param more - values of the hub, beside where it is reached
 */
export async function startInstalledHub(
  number: number,
  more: object = {},
  { nodes, install = installAllInOne, parts }: Installation = {},
): Promise<InstalledHub> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-installed-'));
  const node = await startNodeCluster(number, nodes, parts);
  const { admin } = node;
  const hubAddress = node.nodes.map(({ address }) => `${address}:${nodePort}`).join(',');
  const cluster = (name: string) => admin.get<ManagedCluster>(resources.managedClusters, { name });
  const readySince = async (name: string) => {
    const condition = conditionOf(await cluster(name), 'Ready');
    return `${condition?.status} since ${condition?.lastTransitionTime}`;
  };
  const containersIn = async (namespace: string) => {
    const found = await admin.list<WithContainers>(pods, { namespace });
    return found.flatMap(({ status }) => status?.containerStatuses ?? []);
  };
  const hub: InstalledHub = {
    ...node,
    hubAddress,
    keys: join(folder, 'keys'),
    hubValues: join(folder, 'hub.yaml'),
    valuesFile(name, values) {
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, typeof values === 'string' ? values : stringify(values), { mode: 0o600 });
      return file;
    },
    cluster,
    readiness: (name, status) => {
      const is = async () => {
        const found = await cluster(name);
        return conditionOf(found, 'Ready')?.status === status && found;
      };
      return untilOnNodes(`cluster ${name} has Ready=${status}`, is);
    },
    async readinessDuring(name, work) {
      const before = await readySince(name);
      await work();
      await hub.untilAllRun();
      // Whatever happened meanwhile is told by services that have caught up, and the next heartbeat has been heard.
      await hub.readiness(name, 'True');
      const after = await readySince(name);
      return after === before ? 'Ready' : `${after}, before ${before}`;
    },
    async untilAllRun() {
      const services = hubServices.map((service) => ({
        resource: resources.deployments,
        name: `rollcall-${service}`,
      }));
      const all = [{ resource: statefulSets, name: 'rollcall-nats' }, ...services];
      for (const { resource, name } of all) {
        const where = { name, namespace: hubNamespace };
        const isThere = async () => {
          const found = await admin.get<Deployment>(resource, where);
          return found !== undefined && isAvailable(found);
        };
        await untilOnNodes(`${name} is available`, isThere);
      }
    },
    async restarts(namespace) {
      const containers = await containersIn(namespace);
      return containers.reduce((sum, { restartCount }) => sum + restartCount, 0);
    },
    async memory(namespace) {
      const found = await admin.list<WithContainers>(pods, { namespace });
      return found.flatMap(({ metadata, status }) =>
        (status?.containerStatuses ?? []).flatMap(({ containerID = '' }) => {
          const memory = node.memoryOf(containerID);
          return memory ? [{ ...memory, pod: metadata.name ?? '' }] : [];
        }),
      );
    },
    async allStartedSince(time) {
      const containers = await containersIn(hubNamespace);
      // Kubernetes tells seconds.
      const since = Math.floor(time.getTime() / 1000) * 1000;
      return containers.every(({ state }) => Date.parse(state.running?.startedAt ?? '') >= since);
    },
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await node.makeVolumes(1);
    hub.valuesFile('hub', { nats: { serviceType: 'NodePort', nodePort }, ...more });
    await install(hub);
    return hub;
  } catch (error) {
    await hub[Symbol.asyncDispose]();
    throw error;
  }
}
