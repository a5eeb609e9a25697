import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer, text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { findBinary } from '../../cli/up/binaries.ts';

/** What a program was given and said, as bytes. */
interface Ran {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A person with kubectl. */
export interface Person {
  start(...args: readonly string[]): ChildProcess;
  run(
    args: readonly string[],
    options?: { readonly input?: Buffer; readonly isSpdy?: boolean },
  ): Promise<Ran>;
  /** @returns what it drew, to its end */
  inTerminal(...args: readonly string[]): Promise<string>;
  /** Does this while a port of the pod is forwarded. @param work - is given the port here */
  withForwarded<Value>(pod: string, port: number, work: (here: string) => Promise<Value>): Promise<Value>;
}

/** @param kubeconfig - by way of the hub */
export function personWith(kubeconfig: string): Person {
  const command = (args: readonly string[]) => ['--kubeconfig', kubeconfig, ...args];
  function start(...args: readonly string[]): ChildProcess {
    return spawn(findBinary('kubectl'), command(args), { stdio: ['ignore', 'pipe', 'pipe'] });
  }
  return {
    start,
    async run(args, { input, isSpdy = false } = {}) {
      const environment = isSpdy
        ? { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }
        : {};
      const child = spawn(findBinary('kubectl'), command(args), { env: { ...process.env, ...environment } });
      child.stdin.on('error', () => undefined).end(input);
      const ended = once(child, 'close') as Promise<[number | null]>;
      const [stdout, stderr, [code]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), ended]);
      return { code, stdout, stderr: stderr.toString('utf8') };
    },
    async inTerminal(...args) {
      const line = [findBinary('kubectl'), ...command(args)].join(' ');
      const child = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['ignore', 'pipe', 'inherit'] });
      return textOf(child.stdout);
    },
    async withForwarded(pod, port, work) {
      const child = start('port-forward', pod, `:${port}`);
      try {
        const [said] = (await once(child.stdout ?? child, 'data')) as [Buffer];
        const [, here = ''] = /127\.0\.0\.1:(\d+)/.exec(said.toString('utf8')) ?? [];
        expect(here, said.toString('utf8')).not.toBe('');
        return await work(here);
      } finally {
        child.kill();
        await once(child, 'close');
      }
    },
  };
}

/** Until a program that goes on has said this. */
export async function untilSaid(child: ChildProcess, wanted: string): Promise<void> {
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (!said.includes(wanted)) await delay(50);
}
