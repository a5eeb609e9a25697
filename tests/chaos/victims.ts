import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EmbeddedHub } from '../../cli/up/embedded-hub.ts';
import { type ChildHandle, startChild } from '../../cli/up/process/child-process.ts';
import type { TestEmbeddedHub } from '../harness/embedded.ts';
import type { AgentAssignments } from './agent-process.ts';
import type { Clock } from './clock.ts';

/** A process that can be struck, and that is there again afterwards. */
export interface Victim {
  pid(): number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Agents of some clusters in one process, over one network. */
export interface AgentProcess extends Victim {
  clusters(): readonly string[];
  add(cluster: { name: string; token: string }): void;
  /** It has left; the process is not to start an agent for it again. */
  forget(cluster: string): void;
}

const agentProgram = join(import.meta.dirname, 'agent-process.ts');
const supervisedForMs = 120_000;

/** As whatever runs services in production: what cannot start, because its bus is away, is started again. */
async function startAgain(start: () => Promise<ChildHandle>): Promise<ChildHandle> {
  for (const deadlineMs = performance.now() + supervisedForMs; ; await delay(500)) {
    try {
      return await start();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
  }
}

/** A child that is started anew by the same recipe. */
export function revivable(start: () => Promise<ChildHandle>, first: ChildHandle): Victim {
  let child = first;
  return {
    pid: () => child.pid,
    kill: () => child.kill(),
    stop: () => child.stop(),
    async start() {
      child = await startAgain(start);
    },
  };
}

/** The NATS servers of a hub, in their order. */
export function natsVictims(up: EmbeddedHub): Victim[] {
  if (up.natsCluster)
    return up.natsCluster.nodes.map((node) => ({
      pid: () => node.server().pid,
      kill: () => node.server().kill(),
      stop: () => node.server().stop(),
      start: () => node.start(),
    }));
  return [
    {
      pid: () => up.natsServer()?.pid ?? 0,
      kill: async () => up.natsServer()?.kill(),
      stop: async () => up.natsServer()?.stop(),
      start: () => up.restartNats(),
    },
  ];
}

export async function startAgentProcess(
  hub: TestEmbeddedHub,
  { base, name, port, clock }: { base: string; name: string; port: number; clock: Clock },
): Promise<AgentProcess> {
  const directory = join(base, name.replace(' ', '-'));
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const clusters = new Map<string, string>();
  function write(): void {
    const assignments: AgentAssignments = {
      hub: [`127.0.0.1:${port}`],
      pin: hub.up.hub.caCertHash,
      member: hub.up.plane.access,
      clusters: [...clusters].map(([cluster, token]) => ({ name: cluster, token })),
    };
    const path = join(directory, 'agents.json');
    writeFileSync(`${path}.tmp`, JSON.stringify(assignments), { mode: 0o600 });
    // Whole or not at all: the process may be reading.
    renameSync(`${path}.tmp`, path);
  }
  const start = () =>
    startChild({
      name: name.replace(' ', '-'),
      command: process.execPath,
      args: [...clock.nodeFlags, agentProgram, directory],
      stateDir: directory,
      logPath: join(directory, 'logs', 'agents.log'),
      readyWithinMs: 60_000,
      isReady: async () => true,
    });
  write();
  const victim = revivable(start, await start());
  return {
    ...victim,
    clusters: () => [...clusters.keys()],
    add(cluster) {
      clusters.set(cluster.name, cluster.token);
      write();
    },
    forget(cluster) {
      clusters.delete(cluster);
      write();
    },
  };
}
