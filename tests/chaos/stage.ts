import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { serviceAccountGroups, serviceSettings, serviceUser } from '../../cli/up/hub-services.ts';
import { type FlakyNetwork, openFlakyNetwork } from '../../cli/simulate/clusters/flaky-network.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub } from '../harness/embedded.ts';
import { serveInProcess, serviceNames } from '../harness/service-process.ts';
import { type Clock, createClock } from './clock.ts';
import { type ForgetfulApi, openForgetfulApi } from './forgetful-api.ts';
import { type ChaosSettings, kubernetesWriters } from './schedule.ts';
import { openDisks, type StageDisk } from './stage-disks.ts';
import { type AgentProcess, natsVictims, revivable, startAgentProcess, type Victim } from './victims.ts';

/** A whole hub in real processes, and agents, each behind a network that can be made bad. */
export interface Stage extends AsyncDisposable {
  readonly hub: TestEmbeddedHub;
  /** As people who watch have it. */
  readonly bus: NatsConnection;
  readonly settings: ChaosSettings;
  readonly directory: string;
  /** By the names that schedules use. */
  readonly victims: ReadonlyMap<string, Victim>;
  readonly networks: ReadonlyMap<string, FlakyNetwork>;
  readonly clocks: ReadonlyMap<string, Clock>;
  readonly apis: ReadonlyMap<string, ForgetfulApi>;
  /** By the names of the NATS servers; empty where this machine lets us have none. */
  readonly disks: ReadonlyMap<string, StageDisk>;
  readonly agents: readonly AgentProcess[];
  /** What must stand in no log. */
  readonly secrets: string[];
  /** Leaves logs and stores where they are when it ends. */
  keep(): void;
}

/** Renewed within every few schedules, and lapsed where a fault lasts. */
const memberLife = '60s';
/** Whoever is struck in several schedules flaps; two minutes of rest each time would be most of the run. */
const flapSteady = '10s';
export async function openStage(settings: ChaosSettings): Promise<Stage> {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-chaos-'));
  const stateDir = join(base, 'hub');
  let isKept = false;
  const forgetFiles = () => isKept || rmSync(base, { recursive: true, force: true });
  process.once('exit', forgetFiles);
  const disks = settings.withDisks
    ? await openDisks(base, { stateDir, servers: settings.servers })
    : new Map();
  const hub = await startTestEmbeddedHub({
    stateDir,
    withServices: false,
    servers: settings.servers,
    settings: { registrar: { memberLife }, heartbeat: { flapSteady } },
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

  const clocks = new Map<string, Clock>();
  const addClock = (name: string): Clock => {
    const clock = createClock(join(base, `${name.replace(' ', '-')}.clock`));
    clocks.set(`clock ${name}`, clock);
    return clock;
  };
  const apis = new Map<string, ForgetfulApi>();
  const accesses = new Map<string, KubeAccess>();
  for (const name of kubernetesWriters) {
    const own = up.plane.userAccess(serviceUser(name), serviceAccountGroups);
    const api = await openForgetfulApi(own, join(up.stateDir, 'kubernetes', 'pki'));
    apis.set(`api ${name}`, api);
    accesses.set(serviceUser(name), api.access);
  }

  const all = serviceSettings({
    ...up.serviceOptions,
    userAccess: (name, groups) => accesses.get(name) ?? up.plane.userAccess(name, groups),
  });
  for (const name of serviceNames) {
    // With several servers a service finds them all, around any proxy.
    const bus = settings.servers === 1 ? `127.0.0.1:${(await openNetwork(name)).port}` : undefined;
    const own = { ...all[name], ...(bus === undefined ? {} : { busServers: bus }) };
    const { nodeFlags } = addClock(name);
    const start = () => serveInProcess(name, { label: `${name}-1`, stateDir, settings: own, nodeFlags });
    victims.set(`service ${name}`, revivable(start, await start()));
  }
  for (const [index, server] of natsVictims(up).entries()) victims.set(`nats ${index + 1}`, server);
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
    const agent = await startAgentProcess(hub, { base, name, port: network.port, clock: addClock(name) });
    agents.push(agent);
    victims.set(name, agent);
  }

  const bus = await connectAsInspector(stateDir, up.natsAddress);
  return {
    hub,
    bus,
    settings,
    directory: base,
    victims,
    networks,
    clocks,
    apis,
    disks,
    agents,
    secrets: [],
    keep() {
      isKept = true;
    },
    async [Symbol.asyncDispose]() {
      const servicesAndAgents = [...victims].filter(([name]) => /^(service|agents) /.test(name));
      await Promise.allSettled(servicesAndAgents.map(([, victim]) => victim.stop()));
      await bus.close();
      await hub[Symbol.asyncDispose]();
      const rest = [...networks.values(), ...apis.values(), ...[...disks.values()].map(({ disk }) => disk)];
      await Promise.allSettled(rest.map((one) => one[Symbol.asyncDispose]()));
      process.off('exit', forgetFiles);
      forgetFiles();
    },
  };
}
