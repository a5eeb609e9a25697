import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChildHandle, startChild } from '../../cli/up/child-process.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import { type FlakyNetwork, openFlakyNetwork } from '../../cli/simulate/flaky-network.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub } from '../harness/embedded.ts';
import { serveInProcess, serviceNames } from '../harness/service-process.ts';
import type { AgentAssignments } from './agent-process.ts';
import type { ChaosSettings } from './schedule.ts';

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

/** A whole hub in real processes, and agents, each behind a network that can be made bad. */
export interface Stage extends AsyncDisposable {
  readonly hub: TestEmbeddedHub;
  readonly settings: ChaosSettings;
  readonly directory: string;
  /** By the names that schedules use. */
  readonly victims: ReadonlyMap<string, Victim>;
  readonly networks: ReadonlyMap<string, FlakyNetwork>;
  readonly agents: readonly AgentProcess[];
  /** What must stand in no log. */
  readonly secrets: string[];
  /** Leaves logs and stores where they are when it ends. */
  keep(): void;
}

const agentProgram = join(import.meta.dirname, 'agent-process.ts');
/** Renewed within every few schedules, and lapsed where a fault lasts. */
const memberLife = '60s';
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
function revivable(start: () => Promise<ChildHandle>, first: ChildHandle): Victim {
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

async function startAgentProcess(
  hub: TestEmbeddedHub,
  { base, name, port }: { base: string; name: string; port: number },
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
      args: [agentProgram, directory],
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

export async function openStage(settings: ChaosSettings): Promise<Stage> {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-chaos-'));
  const hub = await startTestEmbeddedHub({
    stateDir: join(base, 'hub'),
    withServices: false,
    servers: settings.servers,
    settings: { registrar: { memberLife } },
  });
  const { up } = hub;
  const networks = new Map<string, FlakyNetwork>();
  const victims = new Map<string, Victim>();
  const { servers } = up.natsAddress;
  const openNetwork = async (name: string, server = 0): Promise<FlakyNetwork> => {
    const [host = '', port] = (servers[server % servers.length] ?? '').split(':');
    const network = await openFlakyNetwork({ host, port: Number(port) });
    networks.set(`network ${name}`, network);
    return network;
  };

  const all = serviceSettings(up.serviceOptions);
  for (const name of serviceNames) {
    // With several servers a service finds them all, around any proxy.
    const bus = settings.servers === 1 ? `127.0.0.1:${(await openNetwork(name)).port}` : undefined;
    const own = { ...all[name], ...(bus === undefined ? {} : { busServers: bus }) };
    const start = () => serveInProcess(name, { label: `${name}-1`, stateDir: up.stateDir, settings: own });
    victims.set(`service ${name}`, revivable(start, await start()));
  }
  const cluster = up.natsCluster;
  if (cluster) {
    for (const [index, node] of cluster.nodes.entries())
      victims.set(`nats ${index + 1}`, {
        pid: () => node.server().pid,
        kill: () => node.server().kill(),
        stop: () => node.server().stop(),
        start: () => node.start(),
      });
  } else {
    victims.set('nats 1', {
      pid: () => up.natsServer()?.pid ?? 0,
      kill: async () => up.natsServer()?.kill(),
      stop: async () => up.natsServer()?.stop(),
      start: () => up.restartNats(),
    });
  }
  for (const name of ['kube-apiserver', 'etcd'] as const)
    victims.set(name, {
      pid: () => up.plane.pids()[name] ?? 0,
      kill: () => up.plane.kill(name),
      stop: () => up.plane.kill(name),
      start: () => up.plane.restart(name),
    });
  const agents: AgentProcess[] = [];
  for (let index = 1; index <= settings.agentProcesses; index++) {
    const name = `agents ${index}`;
    const network = await openNetwork(name, index - 1);
    const agent = await startAgentProcess(hub, { base, name, port: network.port });
    agents.push(agent);
    victims.set(name, agent);
  }

  let isKept = false;
  return {
    hub,
    settings,
    directory: base,
    victims,
    networks,
    agents,
    secrets: [],
    keep() {
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      const servicesAndAgents = [...victims].filter(([name]) => /^(service|agents) /.test(name));
      await Promise.allSettled(servicesAndAgents.map(([, victim]) => victim.stop()));
      await hub[Symbol.asyncDispose]();
      await Promise.allSettled([...networks.values()].map((network) => network[Symbol.asyncDispose]()));
      await delay(0);
      if (!isKept) rmSync(base, { recursive: true, force: true });
    },
  };
}
