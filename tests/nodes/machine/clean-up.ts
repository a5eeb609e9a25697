import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bridge, cgroupKinds, dataBase, namePrefix, runBase } from './places.ts';
import { tryRun } from './run.ts';

const cgroups = '/sys/fs/cgroup';
const killWithinMs = 20_000;

/** A folder and all below it, the innermost first. */
export function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...below.flatMap(({ name }) => foldersIn(join(folder, name))), folder];
}

const processesIn = (folder: string, isMeant: (folder: string) => boolean): string[] =>
  foldersIn(folder)
    .filter(isMeant)
    .flatMap((one) => {
      try {
        return readFileSync(join(one, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
      } catch {
        return [];
      }
    });

/**
 * SIGKILL to every process of a node and of its pods, until there is none.
 * @param isMeant - by the path of its cgroup; default: all
 */
export async function killAll(cgroup: string, isMeant = (_folder: string) => true): Promise<void> {
  const folder = join(cgroups, 'pids', cgroup);
  const deadlineMs = performance.now() + killWithinMs;
  for (
    let living = processesIn(folder, isMeant);
    living.length > 0 && performance.now() < deadlineMs;
    living = processesIn(folder, isMeant)
  ) {
    for (const pid of living)
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It is gone.
      }
    await delay(100);
  }
}

/** Everything that is mounted below one of these folders, the innermost first. */
async function unmountBelow(...folders: readonly string[]): Promise<void> {
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)));
  for (const path of mounts.toSorted().toReversed()) {
    await tryRun('umount', path);
    await tryRun('umount', '-l', path);
  }
}

/** Ends all of a node, as if the power went: what is on its disk stays. */
export async function powerOff(name: string): Promise<void> {
  await killAll(name);
  const number = name.slice(namePrefix.length);
  const runFolder = join(runBase, number);
  await unmountBelow(join(dataBase, number), runFolder);
  await tryRun('ip', 'netns', 'del', name);
  await tryRun('ip', 'link', 'del', `rcn-${number}`);
  rmSync(runFolder, { recursive: true, force: true });
}

/** The same, and nothing of it stays. */
export async function removeNode(name: string): Promise<void> {
  await powerOff(name);
  for (const kind of cgroupKinds) await tryRun('rmdir', ...foldersIn(join(cgroups, kind, name)));
  rmSync(join(dataBase, name.slice(namePrefix.length)), { recursive: true, force: true });
}

/** Takes away every node that is there, whoever left it, and the bridge between them. */
export async function cleanUp(): Promise<void> {
  const inCgroups = existsSync(join(cgroups, 'pids')) ? readdirSync(join(cgroups, 'pids')) : [];
  const inNetwork = existsSync('/run/netns') ? readdirSync('/run/netns') : [];
  const names = new Set([...inCgroups, ...inNetwork].filter((name) => name.startsWith(namePrefix)));
  for (const name of names) await removeNode(name);
  for (const direction of ['-i', '-o'])
    await tryRun('iptables', '-D', 'FORWARD', direction, bridge.name, '-j', 'ACCEPT');
  await tryRun('iptables', ...masquerade('-D'));
  await tryRun('ip', 'link', 'del', bridge.name);
  rmSync(runBase, { recursive: true, force: true });
  rmSync(dataBase, { recursive: true, force: true });
}

/** Pods and nodes reach what is outside under the address of the machine. */
export function masquerade(verb: '-A' | '-D'): string[] {
  const { network } = bridge;
  return ['-t', 'nat', verb, 'POSTROUTING', '-s', network, '!', '-d', network, '-j', 'MASQUERADE'];
}
