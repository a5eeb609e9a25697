import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, constants, lstatSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { noteChild } from './child-process-stale.ts';

export interface ChildOptions {
  /** For people, and of the note in the state directory: unique there. */
  name: string;
  command: string;
  /** Visible to every user of the machine: never a secret. */
  args: readonly string[];
  /** Added to PATH, HOME, TMPDIR and GOGC (how much memory a Go program may trade for CPU); nothing else of our own environment is handed on. */
  env?: Record<string, string>;
  stateDir: string;
  /** Takes stdout and stderr; the log of the run before is kept as `<logPath>.previous`. */
  logPath: string;
  /** Whether the server can be used; asked every 50 ms. A throw means "not yet". */
  isReady: () => Promise<boolean>;
  readyWithinMs: number;
  /** From SIGTERM to SIGKILL. Default 5 s. */
  stopWithinMs?: number;
  /** Gives up waiting: the server is stopped, and the signal's reason thrown. */
  signal?: AbortSignal | undefined;
}

export interface ChildHandle extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly logPath: string;
  /** Resolves when the process is gone, with what ended it: `exit code 1`, `SIGKILL`. */
  readonly whenExited: Promise<string>;
  /** The last lines of its log, for messages to people. */
  lastLogLines(): string[];
  /** SIGTERM, and SIGKILL after the bound. Resolves when the process is gone; again and again, too. */
  stop(): Promise<void>;
  /** SIGKILL at once, as a crash would be. Resolves when the process is gone. */
  kill(): Promise<void>;
}

const pollMs = 50;
const shownLogLines = 15;

/**
 * Starts a server and waits until it is ready.
 * @throws RollcallError `CHILD_FAILED` with its last log lines, if it ends or is not ready in time; it is stopped then
 */
export async function startChild(options: ChildOptions): Promise<ChildHandle> {
  const child = launch(options);
  const deadlineMs = performance.now() + options.readyWithinMs;
  let ended: string | undefined;
  void child.whenExited.then((how) => (ended = how));
  for (;;) {
    if (await options.isReady().catch(() => false)) return child;
    if (options.signal?.aborted) {
      await child.stop();
      throw options.signal.reason;
    }
    if (ended !== undefined) throw childFailed(child, `ended with ${ended}`);
    if (performance.now() > deadlineMs) {
      await child.stop();
      throw childFailed(child, `was not ready within ${options.readyWithinMs} ms`);
    }
    await delay(pollMs);
  }
}

function launch(options: ChildOptions): ChildHandle {
  const { name, logPath, stopWithinMs = 5_000 } = options;
  const log = openLog(logPath);
  const server = spawn(options.command, options.args, {
    stdio: ['ignore', log, log],
    env: { ...inherited('PATH', 'HOME', 'TMPDIR', 'GOGC'), ...options.env },
    // A process group of its own: Ctrl-C in the terminal is ours, and we stop the children in order.
    detached: true,
  });
  closeSync(log);
  const forget = server.pid === undefined ? () => undefined : noteChild(options.stateDir, name, server.pid);
  const { promise: whenExited, resolve } = Promise.withResolvers<string>();
  let hasEnded = false;
  const gone = (how: string): void => {
    hasEnded = true;
    living.delete(server);
    forget();
    resolve(how);
  };
  living.add(server);
  server.once('error', (error) => gone(error.message));
  server.once('exit', (code, signal) => gone(signal ?? `exit code ${code}`));

  async function stop(): Promise<void> {
    if (hasEnded) return;
    server.kill('SIGTERM');
    const timer = setTimeout(() => server.kill('SIGKILL'), stopWithinMs);
    await whenExited;
    clearTimeout(timer);
  }
  return {
    name,
    pid: server.pid ?? -1,
    logPath,
    whenExited,
    lastLogLines: () => readFileSync(logPath, 'utf8').trimEnd().split('\n').slice(-shownLogLines),
    stop,
    kill: async () => {
      server.kill('SIGKILL');
      await whenExited;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** With its last log lines, and the file that has the others. */
export function childFailed(child: ChildHandle, what: string): RollcallError {
  const lines = child.lastLogLines().map((line) => `  ${line}`);
  return new RollcallError(
    'CHILD_FAILED',
    `${child.name} ${what}\n${lines.join('\n')}\n  (${child.logPath})`,
  );
}

function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A symbolic link that leads nowhere has no log either, and goes all the same.
  if (lstatSync(path, { throwIfNoEntry: false })) renameSync(path, `${path}.previous`);
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  return openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY, 0o600);
}

function inherited(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** For an end of ours that stops nothing in order, as after an uncaught error. After a SIGKILL, see `reapStale`. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});
