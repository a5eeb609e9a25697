import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '../../../tools/setup/cache-folder.mjs';

/** Clusters are told apart by a number from 1 to 9. */
export interface Place {
  readonly name: string;
  readonly node: string;
  /** Keys, data, images and logs. */
  readonly folder: string;
  /** Sockets and what containerd mounts: sockets have short paths. */
  readonly runFolder: string;
  readonly cgroup: string;
  /** Of the node, in the network of the bridge. */
  readonly address: string;
  readonly link: string;
  /** The first three bytes. */
  readonly pods: string;
  readonly services: string;
}

export const bridge = { name: 'rollcall-nodes', address: '10.222.0.1', network: '10.222.0.0/24' } as const;
export const namePrefix = 'rollcall-node-';
export const runBase = '/run/rollcall-nodes';
export const dataBase = join(tmpdir(), 'rollcall-nodes-data');
/** Base images and what the engine has built; kept. */
export const kept = join(cacheFolder(process.env), 'nodes');

export function placeOf(number: number): Place {
  const name = `${namePrefix}${number}`;
  return {
    name,
    node: `node-${number}`,
    folder: join(dataBase, `${number}`),
    runFolder: join(runBase, `${number}`),
    cgroup: name,
    address: `10.222.0.${10 + number}`,
    link: `rcn-${number}`,
    pods: `10.21${number}.0`,
    services: `10.11${number}.0`,
  };
}

/** What cgroup v1 has a tree of its own for. */
export const cgroupKinds = [
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'devices',
  'freezer',
  'blkio',
  'pids',
  'systemd',
] as const;
