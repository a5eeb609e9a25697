import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  type BusAddress,
  type BusCredentials,
  connectBus,
  type EventLog,
  openEventLog,
} from '@rollcall/shared/bus';
import { type AgentRole, scopedUserClaims, type ServiceName } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { findBinary } from '../../cli/up/binaries.ts';
import { startChild } from '../../cli/up/child-process.ts';
import { type HubState, openHubState } from '../../cli/up/hub-state.ts';
import { type EmbeddedNats, startNatsServer } from '../../cli/up/nats-server.ts';
import { loopbackPorts } from '../../cli/up/control-plane-ports.ts';

/** A real hub bus: nats-server in operator mode with every account, stream and consumer, on a free loopback port. */
export interface TestHub extends AsyncDisposable {
  readonly stateDir: string;
  readonly hub: HubState;
  readonly address: BusAddress;
  readonly port: number;
  /** Settings for a service's configSchema; one log file a service in the state directory. */
  serviceSettings(name: ServiceName): Record<string, string>;
  connectAs(role: ServiceName | 'setup' | 'ops'): Promise<NatsConnection>;
  /** An event log under the identity of that service, on a connection of its own that ends with the hub. */
  openLog(service: ServiceName): Promise<EventLog>;
  /** Credentials as the registrar would issue them, for a new key or the given one. */
  agentCredentials(
    role: AgentRole,
    name: string,
    options?: { seed?: string; lifeMs?: number },
  ): BusCredentials & { publicKey: string };
  readonly natsServer: {
    kill(): Promise<void>;
    restart(): Promise<void>;
    /** Restarts it so that it acknowledges before it has written, as NATS does by default. */
    restartUnsafe(): Promise<void>;
  };
}

function parseCreds(text: string): BusCredentials {
  const part = (what: string) => new RegExp(`BEGIN ${what}-----\\n([^\\n]+)`).exec(text)?.[1] ?? '';
  return { jwt: part('NATS USER JWT'), seed: part('USER NKEY SEED') };
}

interface RegistrarIdentity {
  readonly agentsAccount: string;
  readonly agentSigners: Readonly<Record<AgentRole, string>>;
}

export async function startTestHub(): Promise<TestHub> {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-hub-'));
  const hub = openHubState(stateDir, Date.now());
  const { nats: port } = await loopbackPorts(join(stateDir, 'ports.json'), ['nats']);
  const start = () => startNatsServer(hub, { stateDir, port, advertised: [], nowMs: Date.now() });
  let nats: EmbeddedNats = await start();
  const connections: NatsConnection[] = [];
  const identity = <Shape>(name: string): Shape =>
    JSON.parse(readFileSync(join(stateDir, 'identities', `${name}.json`), 'utf8')) as Shape;
  const { address } = nats;

  async function connectAs(role: ServiceName | 'setup' | 'ops'): Promise<NatsConnection> {
    const user =
      role === 'ops'
        ? parseCreds(readFileSync(join(stateDir, 'ops.creds'), 'utf8'))
        : identity<{ bus: BusCredentials }>(role).bus;
    const nc = await connectBus(address, user, role);
    connections.push(nc);
    return nc;
  }

  return {
    stateDir,
    hub,
    address,
    port,
    serviceSettings: (name) => ({
      busServers: address.servers.join(','),
      busCaFile: join(stateDir, 'nats', 'server.pem'),
      identityFile: join(stateDir, 'identities', `${name}.json`),
      logFile: join(stateDir, 'logs', `${name}.log`),
      logLevel: 'debug',
    }),
    connectAs,
    openLog: async (service) =>
      openEventLog(await connectAs(service), { epoch: hub.epoch, source: `/rollcall/${service}` }),
    agentCredentials(role, name, { seed, lifeMs = 3_600_000 } = {}) {
      const { agentsAccount, agentSigners } = identity<RegistrarIdentity>('registrar');
      const key = seed === undefined ? createNkey('user') : nkeyFromSeed(seed);
      const nowMs = Date.now();
      const jwt = encodeJwt(
        {
          subject: key.publicKey,
          name,
          nowMs,
          expiresAtMs: nowMs + lifeMs,
          nats: scopedUserClaims(agentsAccount),
        },
        nkeyFromSeed(agentSigners[role]),
      );
      return { jwt, seed: key.seed, publicKey: key.publicKey };
    },
    natsServer: {
      kill: () => nats.server.kill(),
      restart: async () => {
        nats = await start();
      },
      async restartUnsafe() {
        await nats.server.kill();
        const written = readFileSync(join(stateDir, 'nats', 'nats.conf'), 'utf8');
        const configFile = join(stateDir, 'nats', 'unsafe.conf');
        writeFileSync(configFile, written.replace(', sync_interval: always', ''), { mode: 0o600 });
        const server = await startChild({
          name: 'nats-server',
          command: findBinary('nats-server'),
          args: ['-c', configFile],
          stateDir,
          logPath: join(stateDir, 'logs', 'nats-server.log'),
          readyWithinMs: 30_000,
          isReady: async () => {
            await (await connectAs('setup')).flush();
            return true;
          },
        });
        nats = { ...nats, server };
      },
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(connections.map((nc) => nc.close()));
      await nats.server.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
