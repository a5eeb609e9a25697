import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

/**
 * Runs a program of the machine to its end.
 * @returns what it printed on stdout
 * @throws Error with what it printed on stderr
 */
export async function run(command: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 2 ** 26 });
  return stdout;
}

/** The same, where it is no fault that there is nothing to do. */
export const tryRun = (command: string, ...args: readonly string[]): Promise<string> =>
  run(command, ...args).catch(() => '');

/** A pipe of the shell; the words are its `$1`, `$2` … and are never read as shell. */
export const shell = (script: string, ...words: readonly string[]): Promise<string> =>
  run('bash', '-euo', 'pipefail', '-c', script, 'bash', ...words);

/** Does it, and says what it did and how long it took: set-up takes minutes the first time. */
export async function step<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  const beganMs = performance.now();
  process.stderr.write(`nodes: ${what} …\n`);
  const value = await work();
  process.stderr.write(`nodes: ${what}: ${((performance.now() - beganMs) / 1000).toFixed(1)} s\n`);
  return value;
}

/**
 * Starts a program that outlives this process and ends when its stdin does; resolves when it says that it is ready.
 * @throws Error where it ends before
 */
export async function startGuard(script: string): Promise<{ end(): Promise<void> }> {
  const child = spawn(process.execPath, [script], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const isReady = once(child.stdout, 'data').then(() => true);
  const first = await Promise.race([isReady, ended]);
  if (first === undefined) throw new Error('what takes nodes away has ended before it was ready');
  child.unref();
  return {
    end: () => {
      child.ref();
      child.stdin.end();
      return ended;
    },
  };
}
