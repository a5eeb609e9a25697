import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { AgentOptions } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { nowMs } from '../report/clock.ts';
import type { HubReport } from './hub-process.ts';

/** What an agent of the bench is started with; the file holds its token, so it is 0600. */
export interface AgentSettings extends Pick<
  AgentOptions,
  'hub' | 'trust' | 'token' | 'clientId' | 'clusterName' | 'member' | 'memberAccess'
> {
  readonly storeDir: string;
}

/** A step of the agent: a phase of its own, `loaded`, or a TCP connection that it begins. */
export interface AgentLine {
  readonly step: string;
  readonly message: string;
  readonly atMs: number;
}

export interface BenchAgent extends AsyncDisposable {
  readonly pid: number;
  /** Just before the process was started. */
  readonly startedAtMs: number;
  /** What it has said so far, in its order. */
  readonly lines: readonly AgentLine[];
  /** Rejects when the agent ends although nobody stopped it. */
  readonly broken: Promise<never>;
}

/**
 * Starts an agent as a process of its own, in a directory of its own.
 * @param of.cluster - its id and its name
 * @param of.program - flags of Node, and the file that it runs
 * @param of.trust - default: the pin of the hub's CA
 */
export function startBenchAgent(
  hub: HubReport,
  of: Pick<AgentOptions, 'token' | 'member' | 'memberAccess'> & {
    readonly cluster: string;
    readonly program: readonly string[];
    readonly trust?: AgentOptions['trust'];
  },
): BenchAgent {
  const { cluster, program, token, member, memberAccess, trust = { pins: [hub.caCertHash] } } = of;
  const directory = join(hub.baseDir, 'agents', cluster);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const settingsPath = join(directory, 'settings.json');
  const settings: AgentSettings = {
    hub: hub.addresses,
    trust,
    token,
    member,
    memberAccess,
    clientId: cluster,
    clusterName: cluster,
    storeDir: join(directory, 'keys'),
  };
  writeFileSync(settingsPath, JSON.stringify(settings), { mode: 0o600 });
  const startedAtMs = nowMs();
  const child = spawn(process.execPath, [...program, settingsPath], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: AgentLine[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => lines.push(JSON.parse(text) as AgentLine));
  const exited = once(child, 'exit');
  const broken = exited.then((): never => {
    throw new RollcallError('CHILD_FAILED', `the agent in "${directory}" ended`);
  });
  broken.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    startedAtMs,
    lines,
    broken,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
