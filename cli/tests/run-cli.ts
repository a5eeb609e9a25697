import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '../../tools/setup/cache-folder.mjs';

const ownEntry = join(import.meta.dirname, '..', 'main.ts');

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A `rollcall` process that runs until it ends by itself or is told to. */
export interface RunningCli extends AsyncDisposable {
  readonly child: ChildProcess;
  /** The first line of stdout or stderr that fits; fails when the process ends without one. */
  line(pattern: RegExp): Promise<string>;
  readonly result: Promise<CliResult>;
}

export interface CliOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: an empty one, so that no state of anybody is found. */
  readonly directory?: string;
  /** Whose command line; default: that of this checkout. */
  readonly entry?: string;
}

/** Starts the command line as people do, in a process of its own. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const empty = options.directory === undefined ? mkdtempSync(join(tmpdir(), 'rollcall-cli-')) : undefined;
  const child = spawn(process.execPath, [options.entry ?? ownEntry, ...args], {
    cwd: options.directory ?? empty,
    env: {
      PATH: process.env['PATH'],
      HOME: empty ?? options.directory,
      // Compiled code is no state; without it each of hundreds of commands strips and compiles everything anew. Said to Node, and not only
      // by the command itself: what strips types is not even loaded then, which is a quarter of a start (measured).
      ROLLCALL_CACHE: cacheFolder(process.env),
      NODE_COMPILE_CACHE: join(cacheFolder(process.env), 'compiled'),
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let wake = Promise.withResolvers<void>();
  const heard = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    heard();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    heard();
  });
  let hasEnded = false;
  const result = once(child, 'close').then(([code]: (number | null)[]) => {
    hasEnded = true;
    heard();
    if (empty !== undefined) rmSync(empty, { recursive: true, force: true });
    return { code: code ?? null, stdout, stderr };
  });
  return {
    child,
    result,
    async line(pattern) {
      for (;;) {
        const found = `${stdout}\n${stderr}`.split('\n').find((text) => pattern.test(text));
        if (found !== undefined) return found;
        if (hasEnded) throw new Error(`ended without a line like ${pattern}\n${stdout}\n${stderr}`);
        await wake.promise;
      }
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded) child.kill('SIGKILL');
      await result;
    },
  };
}

/** Runs the command line to its end. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).result;
}

/** Of a command with arguments for another program after `--`, which the flag is not for. */
export function withKubeconfig(args: readonly string[], path: string): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.toSpliced(end, 0, '--kubeconfig', path);
}

/** What was told beside that something still goes on, which depends on how busy the machine is. */
export const withoutProgress = (stderr: string): string => stderr.replaceAll(/^… .+ \(\d+ s\)\n/gm, '');
