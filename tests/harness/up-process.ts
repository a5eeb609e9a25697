import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { until } from './embedded.ts';

const cliMain = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');

/** `rollcall` as a process, as a person starts it. */
export interface Run {
  readonly child: ChildProcess;
  /** Both outputs so far. */
  output(): string;
  readonly ended: Promise<number | null>;
}

/** A directory for each test, in which `rollcall up` runs for real; what still runs after the test is ended. */
export interface UpProcess {
  /** Above the state directory, and gone with the test. */
  base(): string;
  home(): string;
  rollcall(...args: string[]): Run;
  /** @throws Error with its output, where it ends before */
  upAndReady(...args: string[]): Promise<Run>;
  /** Processes whose program or arguments lie in the state directory or name it. */
  processesOfHub(): string[];
  /** Of a server that `up` has started, by the note it keeps. @throws Error between two epochs */
  pidOf(server: string, directory?: string): number;
}

/** To be called once, at the top of a test file. */
export function useUpProcess(): UpProcess {
  let base = '';
  let running: ChildProcess[] = [];
  const home = () => join(base, 'state');

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'rollcall-home-'));
    running = [];
  });
  afterEach(async () => {
    for (const child of running)
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await rollcall('down', '--wipe').ended;
    rmSync(base, { recursive: true, force: true });
  });

  function rollcall(...args: string[]): Run {
    const child = spawn(process.execPath, [cliMain, ...args], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        GOGC: process.env['GOGC'],
        ROLLCALL_HOME: home(),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return {
      child,
      output: () => output,
      ended: once(child, 'exit').then(([code]) => code as number | null),
    };
  }

  async function upAndReady(...args: string[]): Promise<Run> {
    const run = rollcall('up', ...args);
    await until('the hub says that it is running', async () => {
      if (run.child.exitCode !== null) throw new Error(run.output());
      return run.output().includes('Ctrl-C stops it');
    });
    return run;
  }

  function processesOfHub(): string[] {
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
      .flatMap((pid) => {
        try {
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
          return command.includes(base) ? [`${readlinkSync(`/proc/${pid}/exe`)} ${command}`] : [];
        } catch {
          return [];
        }
      });
  }

  function pidOf(server: string, directory = ''): number {
    const note = readFileSync(join(home(), directory, 'run', `${server}.json`), 'utf8');
    return (JSON.parse(note) as { pid: number }).pid;
  }

  return { base: () => base, home, rollcall, upAndReady, processesOfHub, pidOf };
}
