import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildHandle, startChild } from '../../../cli/up/process/child-process.ts';
import { dataBase, kept, namePrefix, runBase } from './places.ts';
import { run } from './run.ts';

const name = `${namePrefix}engine`;

/** Of the engine of these tests, and none that a person may have. */
export const dockerHost = `unix://${join(runBase, 'engine.sock')}`;

/** @throws Error with what it printed */
export const docker = (...args: readonly string[]): Promise<string> =>
  run('docker', '--host', dockerHost, ...args);

/** Whether the engine has an image of that name, made of exactly these things. */
export async function hasImage(image: string, madeOf: string): Promise<boolean> {
  const format = '{{index .Config.Labels "made-of"}}';
  const found = await docker('image', 'inspect', '--format', format, image).catch(() => '');
  return found.trim() === madeOf;
}

/**
 * Starts a Docker engine of its own that changes nothing in the network of the machine; builds use that of the machine.
 * What it has built stays for the next run.
 */
export function startEngine(): Promise<ChildHandle> {
  const runFolder = join(runBase, 'engine');
  for (const folder of [runFolder, kept]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const args = [`--host=${dockerHost}`, `--data-root=${join(kept, 'docker')}`, `--exec-root=${runFolder}`];
  args.push(`--pidfile=${join(runFolder, 'pid')}`, '--iptables=false', '--bridge=none');
  return startChild({
    name,
    ...inCgroup(name, 'dockerd', ...args),
    stateDir: join(dataBase, 'engine'),
    logPath: join(dataBase, 'engine', 'log'),
    isReady: async () => existsSync(join(runBase, 'engine.sock')) && (await docker('info')) !== '',
    readyWithinMs: 60_000,
    stopWithinMs: 15_000,
  });
}

/** The command that begins in a cgroup, so that whatever comes of it can be found, and ended. */
export function inCgroup(cgroup: string, ...command: readonly string[]): { command: string; args: string[] } {
  const servers = join('/sys/fs/cgroup/pids', cgroup, 'servers');
  mkdirSync(servers, { recursive: true });
  return { command: 'sh', args: ['-c', `echo 0 > ${servers}/cgroup.procs && exec "$@"`, 'sh', ...command] };
}
