import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ShellOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A script as a person runs it in a terminal: with a process group of its own, so that Ctrl-C reaches all of it. */
export interface RunningShell {
  /** Everything it has printed, both streams as they came. */
  output(): string;
  /** @throws Error with the output, when the script ends before it has printed that */
  untilPrinted(pattern: RegExp): Promise<void>;
  /** Resolves with the exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Presses Ctrl-C and waits for the end. Idempotent. */
  interrupt(): Promise<void>;
}

export function startShell(script: string, { cwd, env }: ShellOptions): RunningShell {
  const child: ChildProcess = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      child.emit('printed');
    });
  }
  // `close` comes after the last output, `exit` may come before.
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const endedEarly = async (pattern: RegExp): Promise<never> => {
    const code = await ended;
    throw new Error(`ended with ${code} before it printed ${pattern}:\n$ ${script}\n${printed}`);
  };
  return {
    output: () => printed,
    ended,
    async untilPrinted(pattern) {
      const gaveUp = endedEarly(pattern);
      gaveUp.catch(() => undefined);
      while (!pattern.test(printed)) await Promise.race([once(child, 'printed'), gaveUp]);
    },
    async interrupt() {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
        process.kill(-child.pid, 'SIGINT');
      }
      await ended;
    },
  };
}

/** Runs a script to its end. */
export async function runShell(
  script: string,
  options: ShellOptions,
): Promise<{ code: number | null; output: string }> {
  const shell = startShell(script, options);
  const code = await shell.ended;
  return { code, output: shell.output() };
}
