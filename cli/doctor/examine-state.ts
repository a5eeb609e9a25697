import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '@rollcall/shared/hub';
import { stateDirectory } from '../state-directory.ts';
import { bytesText } from '../status/stream-sizes.ts';
import { rotationStep } from '../trust/rotation-step.ts';
import { credsFiles, type HubState, rotatedKeys } from '../up/state/hub-state.ts';
import { readState } from '../up/private-files.ts';
import { stateHolder } from '../up/state/state-lock.ts';
import { examine, finding, type Finding, ok, skipped } from './finding.ts';

/** From here on a person should know; a full disk ends everything that has to be kept. */
const fullFrom = 0.8;
/** Room for years of history (docs/scale.md): a fifth of a large disk is more than that. */
const plentyBytes = 20 * 1024 ** 3;
/** etcd and JetStream write in chunks of some hundred megabytes. */
const leastFreeBytes = 512 * 1024 * 1024;

/** Who is not its owner can read it: files that hold keys. */
function openToOthers(directory: string): string[] {
  const places = [
    '.',
    ...Object.values(credsFiles),
    'identities',
    'offline',
    'kubeconfig',
    'kubeconfigs',
    join('nats', 'ca-key.pem'),
  ];
  const files = places.flatMap((place) => {
    const path = join(directory, place);
    if (!existsSync(path)) return [];
    const isList = place !== '.' && statSync(path).isDirectory();
    return [path, ...(isList ? readdirSync(path).map((name) => join(path, name)) : [])];
  });
  // A closed directory closes everything in it.
  if ((statSync(directory).mode & 0o077) === 0) return [];
  return files.filter((path) => (statSync(path).mode & 0o077) !== 0);
}

export function judgeDisk(directory: string, disk: { freeBytes: number; totalBytes: number }): Finding {
  const { freeBytes, totalBytes } = disk;
  const message = `${bytesText(freeBytes)} of ${bytesText(totalBytes)} are free for "${directory}"`;
  const isFull = freeBytes < leastFreeBytes || freeBytes < Math.min(plentyBytes, totalBytes * (1 - fullFrom));
  return isFull
    ? finding('disk', message, 'Make space: a hub whose disk is full cannot keep what is asked of it.')
    : ok('disk', message);
}

/** Keys that roll over wait for a person to take the next step. */
export function judgeRotations(rotations: HubState['rotations'], nowMs: number): Finding[] {
  const open = rotatedKeys.flatMap((key) => {
    const rotation = rotations?.[key];
    return rotation === undefined ? [] : [{ key, ...rotationStep(key, rotation) }];
  });
  const due = open.filter(({ dueAtMs }) => dueAtMs <= nowMs);
  if (due.length > 0) {
    return due.map(({ key, kind }) =>
      finding(
        'rotation',
        `the next step of "${key}" (${kind}) is due`,
        `Take it: \`rollcall trust rotate ${key}\`.`,
      ),
    );
  }
  const keys = open.map(({ key, dueAtMs }) => `${key} until ${new Date(dueAtMs).toISOString()}`);
  return [ok('rotation', keys.length === 0 ? 'no key is rolling over' : `rolling over: ${keys.join(', ')}`)];
}

/** The embedded hub of this directory, if there is one: its files, its process, its disk. */
export async function examineState(): Promise<readonly Finding[]> {
  const directory = stateDirectory();
  if (!existsSync(directory)) {
    return [skipped('state', `there is no "${directory}" here: no hub of \`rollcall up\``)];
  }
  const [state, running, rotations, disk] = await Promise.all([
    examine('state', () => {
      const open = openToOthers(directory);
      return open.length === 0
        ? ok('state', `"${directory}" is closed to others`)
        : finding(
            'state',
            `others can read ${open.map((path) => `"${path}"`).join(', ')}`,
            `Close it: \`chmod -R go-rwx ${shellWord(directory)}\`.`,
          );
    }),
    examine('process', () => {
      const holder = stateHolder(directory);
      return holder === undefined
        ? finding('process', `no \`rollcall up\` runs in "${directory}"`, 'Start it with `rollcall up`.')
        : ok('process', `\`rollcall up\` runs as process ${holder}`);
    }),
    examine('rotation', () =>
      judgeRotations(readState<HubState>(join(directory, 'hub.json'))?.rotations, Date.now()),
    ),
    examine('disk', () => {
      const { bavail, blocks, bsize } = statfsSync(directory);
      return judgeDisk(directory, { freeBytes: bavail * bsize, totalBytes: blocks * bsize });
    }),
  ]);
  return [...state, ...running, ...rotations, ...disk];
}
