import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * What tells a process from a later one with the same number: when it started and which program it runs.
 * @returns `undefined` if there is no such process, or none that we may look at
 */
export function processIdentity(pid: number): string | undefined {
  try {
    return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
  } catch {
    return undefined;
  }
}

function fromProc(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in brackets, which may hold blanks and brackets itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const isZombie = fields[0] === 'Z';
  const startedAtTicks = fields[19];
  const executable = readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
  return isZombie ? undefined : `${startedAtTicks} ${executable}`;
}

function fromPs(pid: number): string | undefined {
  const line = execFileSync('ps', ['-o', 'lstart=', '-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' });
  return line.trim() || undefined;
}
