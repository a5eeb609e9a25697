import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { findBinary } from '../../cli/up/binaries.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { repository, type ShellBlock } from './markdown.ts';
import { type RunningShell, runShell, startShell } from './shell.ts';

/** What a block must do; a test has it by the block's first line. */
export interface Expectation {
  /** Every one must be in the output. */
  readonly prints: readonly RegExp[];
  /** Goes on until Ctrl-C; the next block begins when all of it has been printed. */
  readonly staysRunning?: boolean;
  /** What it must have printed after the blocks that follow. */
  readonly printsLater?: readonly RegExp[];
  /** The exit code of a command that is meant to fail, or all that it may have; 0 where it is not said. */
  readonly exits?: number | readonly number[];
}

export const firstLine = (script: string): string => script.split('\n', 1)[0] ?? '';

/** The blocks that nobody runs, with the reason that stands above them. */
export function notRunBlocks(blocks: readonly ShellBlock[]): Record<string, string> {
  return Object.fromEntries(
    blocks.flatMap(({ script, notRun }) => (notRun === undefined ? [] : [[firstLine(script), notRun]])),
  );
}

/** A person who reads a document and types what stands there: in one directory, with a hub of their own. */
export interface Reader extends AsyncDisposable {
  readonly directory: string;
  /**
   * Starts a block. Each is a shell of its own here, and what a person exports stays.
   * @param exports - the `export` lines of the blocks before
   */
  start(script: string, exports: readonly string[]): RunningShell;
  /** @returns the processes that still work on the hub's state, and the shell that looks for them */
  leftOver(): Promise<string[]>;
}

/** @param name - makes the directory recognisable while a test runs */
export async function startReader(name: string): Promise<Reader> {
  const directory = mkdtempSync(join(tmpdir(), `rollcall-${name}-`));
  // A reader stands in the clone; `npm start` runs there, the rest where its state is.
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
  const { nats: port = 0 } = await loopbackPorts(join(directory, 'free-port.json'), ['nats'], {});
  const { KUBECONFIG: _other, ROLLCALL_HOME: _home, ROLLCALL_TOKEN: _token, ...rest } = process.env;
  const env = { ...rest, PATH: `${dirname(findBinary('kubectl'))}${delimiter}${process.env['PATH'] ?? ''}` };
  return {
    directory,
    start(script, exports) {
      if (script === 'npm start') {
        const home = { ROLLCALL_HOME: join(directory, '.rollcall') };
        return startShell(`npm start -- --port ${port}`, { cwd: repository, env: { ...env, ...home } });
      }
      return startShell([...exports, script].join('\n'), { cwd: directory, env });
    },
    async leftOver() {
      // pgrep's own shell has the directory in its command line too.
      const script = `pgrep -f ${directory}/.rollcall || true`;
      const { output } = await runShell(script, { cwd: repository, env });
      return output.trim().split('\n');
    },
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** How a block did. */
export interface Followed {
  /** What is not as expected, with all of its output; undefined where all is. */
  readonly problem: string | undefined;
  /** Where it goes on until Ctrl-C. */
  readonly running: RunningShell | undefined;
}

/** Waits until a block has done what it must, or has ended without. */
export async function follow(shell: RunningShell, expected: Expectation): Promise<Followed> {
  const { prints, staysRunning = false, exits = 0 } = expected;
  if (staysRunning) {
    for (const pattern of prints) await shell.untilPrinted(pattern);
    return { problem: undefined, running: shell };
  }
  const code = await shell.ended;
  const missing = prints.filter((pattern) => !pattern.test(shell.output()));
  const isFine = missing.length === 0 && code !== null && [exits].flat().includes(code);
  const problem = `ended with ${code}, did not print [${missing.join(', ')}]:\n${shell.output()}`;
  return { problem: isFine ? undefined : problem, running: undefined };
}
