import { type ChildProcess, fork } from 'node:child_process';
import type { Range, Tally } from './run-range.ts';

/** Room in MB for many seeds before the garbage of all is collected: each collection copies the world of one. A sixth of the time. */
const youngGeneration = ['--min-semi-space-size=128', '--max-semi-space-size=128'];

/** Cuts a range into parts of about the same size. */
export function partsOf({ first, count }: Range, parts: number): Range[] {
  const starts = Array.from({ length: parts + 1 }, (_, part) => first + Math.round((count * part) / parts));
  return starts
    .slice(0, -1)
    .map((start, part) => ({ first: start, count: (starts[part + 1] ?? start) - start }));
}

/**
 * Lets a process of its own live through each part; the first that breaks tells its history and ends the others.
 * @param args - of the command line, what every part is to be told
 * @returns the exit code
 */
export async function runInJobs(
  parts: readonly Range[],
  args: readonly string[],
  progress: (more: Tally) => void,
): Promise<number> {
  const main = new URL('main.ts', import.meta.url);
  const children: ChildProcess[] = [];
  const codes = parts.map(async ({ first, count }) => {
    const range = ['--part', '--from', String(first), '--seeds', String(count), ...args];
    const child = fork(main, range, {
      stdio: 'inherit',
      execArgv: [...process.execArgv, ...youngGeneration],
    });
    children.push(child);
    child.on('message', (message) => progress(message as Tally));
    const { promise, resolve } = Promise.withResolvers<number>();
    child.on('exit', (code) => resolve(code ?? 1));
    const code = await promise;
    if (code !== 0) for (const other of children) if (other !== child) other.kill();
    return code;
  });
  return Math.max(...(await Promise.all(codes)));
}
