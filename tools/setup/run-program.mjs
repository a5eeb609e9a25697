import { spawn } from 'node:child_process';

/** A program that does not heed its interruption for this long is killed. */
const killAfterMs = 5_000;

/**
 * @typedef {object} Outcome
 * @property {number | null} code - null when it was ended by a signal
 * @property {string} stdout
 * @property {string} stderr
 *
 * Runs a program to its end and keeps what it printed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {object} [options]
 * @param {string} [options.cwd]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {AbortSignal | undefined} [options.signal] - interrupts the program; the promise rejects after it has ended
 * @param {(line: string) => void} [options.onErrorLine] - called for each line on its stderr
 * @returns {Promise<Outcome>} rejects when the program cannot be started (`ENOENT`) or was interrupted
 */
export function runProgram(command, args, options = {}) {
  const { cwd, env, signal, onErrorLine } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    const hasEnded = interruptOnAbort(child, signal);
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      stderr += text;
      if (onErrorLine) for (const line of text.split('\n')) if (line.trim()) onErrorLine(line.trim());
    });
    child.once('error', (error) => {
      hasEnded();
      reject(error);
    });
    child.once('close', (code) => {
      hasEnded();
      if (signal?.aborted) reject(signal.reason);
      else resolve({ code, stdout, stderr });
    });
  });
}

/**
 * Interrupts a program, and kills it where it does not heed that. Not spawn's own `signal`: it rejects while the program still
 * writes into the folder that we then remove, or that others may have then.
 * @param {import('node:child_process').ChildProcess} child
 * @param {AbortSignal | undefined} signal
 * @returns {() => void} to be called when the program has ended
 */
export function interruptOnAbort(child, signal) {
  /** @type {NodeJS.Timeout | undefined} */
  let killer;
  const interrupt = () => {
    child.kill('SIGINT');
    killer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  };
  signal?.addEventListener('abort', interrupt, { once: true });
  if (signal?.aborted) interrupt();
  return () => {
    clearTimeout(killer);
    signal?.removeEventListener('abort', interrupt);
  };
}
