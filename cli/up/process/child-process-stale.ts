import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writePrivate } from '../private-files.ts';
import { processIdentity } from './child-process-identity.ts';

/** Children outlive a parent that was killed, so each leaves a note in `<stateDir>/run/` for the next run. */
interface ChildNote {
  pid: number;
  identity: string;
}

/** Numbers of children of this very process, which are nobody's leftovers. */
const ours = new Set<number>();

const stopWithinMs = 3_000;
const pollMs = 20;

/** Notes a child that runs. @returns how to remove the note once the child is gone */
export function noteChild(stateDir: string, name: string, pid: number): () => void {
  const identity = processIdentity(pid);
  const folder = join(stateDir, 'run');
  const path = join(folder, `${name}.json`);
  if (identity === undefined) return () => undefined;
  // Whole or not at all: a note that was cut off by a kill would leave its child to nobody.
  writePrivate(path, JSON.stringify({ pid, identity } satisfies ChildNote));
  ours.add(pid);
  return () => {
    ours.delete(pid);
    rmSync(path, { force: true });
  };
}

/**
 * Ends the children that an earlier, killed run left behind: politely first, for 3 s. A process that only has the same
 * number is left alone, and so are the children of this process. Never call it while another run uses the directory.
 * @returns the names of the children that were ended
 */
export async function reapStale(stateDir: string): Promise<string[]> {
  const reaped: string[] = [];
  const folder = join(stateDir, 'run');
  const reap = async (file: string): Promise<void> => {
    const note = readNote(join(folder, file));
    if (note !== undefined && ours.has(note.pid)) return;
    if (note !== undefined && isStillRunning(note)) {
      await end(note);
      reaped.push(file.replace(/\.json$/, ''));
    }
    rmSync(join(folder, file), { force: true });
  };
  await Promise.all(notesIn(folder).map(reap));
  return reaped;
}

function isStillRunning(note: ChildNote): boolean {
  return processIdentity(note.pid) === note.identity;
}

async function end(note: ChildNote): Promise<void> {
  const deadlineMs = performance.now() + stopWithinMs;
  signal(note, 'SIGTERM');
  while (isStillRunning(note)) {
    if (performance.now() > deadlineMs) signal(note, 'SIGKILL');
    await delay(pollMs);
  }
}

function signal(note: ChildNote, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(note.pid, name);
  } catch {
    // It ended between the look and the signal.
  }
}

function notesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
}

/** What is no note, as after a full disk, is none. */
function readNote(path: string): ChildNote | undefined {
  try {
    const note = JSON.parse(readFileSync(path, 'utf8')) as Partial<ChildNote>;
    const { pid, identity } = note;
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : undefined;
  } catch {
    return undefined;
  }
}
