import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { RollcallError } from '@rollcall/shared/errors';

/** A hub that comes back from its backup on an empty machine, until an agent of before has renewed and all services are ready. */
export interface RestoreResult {
  readonly clusters: number;
  readonly servingMs: number;
}

/** A process of its own, because the whole hub runs in it. */
const program = join(import.meta.dirname, 'restore.ts');

/** @throws RollcallError CHILD_FAILED */
export async function measureRestore(
  clusters: number,
  say: (message: string) => void,
): Promise<RestoreResult> {
  say(`restoring a hub of ${clusters} clusters`);
  const child = spawn(process.execPath, [program, String(clusters)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const servingMs = readServingMs(await text(child.stdout));
  if (servingMs === undefined) throw new RollcallError('CHILD_FAILED', 'the restored hub does not serve');
  return { clusters, servingMs };
}

/** @returns undefined unless its agent is a member again */
export function readServingMs(said: string): number | undefined {
  const seconds = /restored and serving: ([\d.]+) s .*its agent hears "admitted"/.exec(said)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
