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
import {
  accountKey,
  type AgentRole,
  otherRoles,
  type Role,
  scopedUserClaims,
  type ServiceName,
  userClaims,
} from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { findBinary } from '../../cli/up/binaries.ts';
import { startChild } from '../../cli/up/process/child-process.ts';
import { credsFiles, type HubState, openHubState } from '../../cli/up/state/hub-state.ts';
import { type NatsNode, startNatsCluster } from '../../cli/up/nats/nats-cluster.ts';
import { type EmbeddedNats, startNatsServer } from '../../cli/up/nats/nats-server.ts';
import { type ServerCount, serverCountOf, setServerCount } from '../../cli/up/state/nats-servers-of.ts';
import { readOfflineKeys } from '../../cli/up/state/offline-keys.ts';
import { parseCreds } from '../../cli/up/state/people-connection.ts';
import { upgradeHubState } from '../../cli/up/state/upgrade-hub-state.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';

/** A real hub bus: nats-server in operator mode with every account, stream and consumer, on a free loopback port. */
export interface TestHub extends AsyncDisposable {
  readonly stateDir: string;
  readonly hub: HubState;
  readonly address: BusAddress;
  readonly port: number;
  /** Where it also speaks WebSocket; 0 where it was not asked to. */
  readonly websocketPort: number;
  /** Settings for a service's configSchema; one log file a service in the state directory. */
  serviceSettings(name: ServiceName): Record<string, string>;
  connectAs(role: ServiceName | 'setup' | 'ops' | 'inspector'): Promise<NatsConnection>;
  /** What is in the file of that identity; `claims` and `callout` are parts of the account-controller's and the registrar's. */
  credentialsOf(role: BusUserName): BusCredentials;
  /** A user with these rights, whom only the holder of the keys that are kept offline can make. */
  userWith(role: Role, name: string): BusCredentials;
  connectWith(user: BusCredentials, name: string): Promise<NatsConnection>;
  /** All of JetStream: what a test may do, and no identity of a hub. */
  connectAsOperator(): Promise<NatsConnection>;
  /** An event log under the identity of that service, on a connection of its own that ends with the hub. */
  openLog(service: ServiceName, clock?: { nowMs?: () => number }): Promise<EventLog>;
  /** Credentials as the registrar would issue them, for a new key or the given one. */
  agentCredentials(
    role: AgentRole,
    name: string,
    options?: { seed?: string; lifeMs?: number; issuedAtMs?: number },
  ): BusCredentials & { publicKey: string };
  /** The servers, where there are several; empty where there is one. */
  readonly nodes: readonly NatsNode[];
  /** Where there is one. */
  readonly natsServer: {
    /** Of the process that runs now. */
    pid(): number;
    kill(): Promise<void>;
    restart(): Promise<void>;
    /** Restarts it with another configuration than ours. */
    restartChanged(change: (config: string) => string): Promise<void>;
  };
}

export type BusUserName =
  | ServiceName
  | 'setup'
  | 'ops'
  | 'inspector'
  | 'claims'
  | 'callout'
  | 'notice-probe'
  | 'backup'
  | 'restore'
  | 'mend'
  | 'archive';

interface RegistrarIdentity {
  readonly agentsAccount: string;
  readonly agentSigners: Readonly<Record<AgentRole, string>>;
}

/**
 * @param options.servers - three make a cluster, whose streams are kept by all of them
 * @param options.advertised - names that the certificate is for, beside the loopback address
 * @param options.withWebSocket - on a port of its own
 * @param options.beforeStart - sees to the place where the servers will write
 */
export async function startTestHub(
  options: {
    servers?: ServerCount;
    advertised?: readonly string[];
    withWebSocket?: boolean;
    beforeStart?: (stateDir: string) => Promise<void>;
  } = {},
): Promise<TestHub> {
  const { advertised = [], withWebSocket = false } = options;
  await using started = new AsyncDisposableStack();
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-hub-'));
  started.defer(() => rmSync(stateDir, { recursive: true, force: true }));
  await options.beforeStart?.(stateDir);
  setServerCount(stateDir, options.servers);
  upgradeHubState(stateDir, Date.now(), { withWebSocket });
  const hub = openHubState(stateDir, Date.now());
  const portsFile = join(stateDir, 'ports.json');
  const { nats: port } = await loopbackPorts(portsFile, ['nats']);
  const { websocket: websocketPort } = withWebSocket
    ? await loopbackPorts(portsFile, ['websocket'])
    : { websocket: 0 };
  const cluster =
    serverCountOf(stateDir) === 1
      ? undefined
      : await startNatsCluster({
          stateDir,
          hub: () => openHubState(stateDir, Date.now()),
          port,
          advertised,
        });
  const start = () =>
    startNatsServer(openHubState(stateDir, Date.now()), {
      stateDir,
      port,
      ...(withWebSocket ? { websocketPorts: [websocketPort] } : {}),
      advertised,
      nowMs: Date.now(),
    });
  let nats: Pick<EmbeddedNats, 'server' | 'address'> = cluster
    ? { address: cluster.address, server: (cluster.nodes[0] as NatsNode).server() }
    : await start();
  started.defer(() => (cluster ? cluster.stop() : nats.server.stop()));
  const connections: NatsConnection[] = [];
  started.defer(async () => void (await Promise.allSettled(connections.map((nc) => nc.close()))));
  const running = started.move();
  const identity = <Shape>(name: string): Shape =>
    JSON.parse(readFileSync(join(stateDir, 'identities', `${name}.json`), 'utf8')) as Shape;
  const { address } = nats;

  function credentialsOf(role: BusUserName): BusCredentials {
    if (role === 'ops' || role === 'inspector')
      return parseCreds(readFileSync(join(stateDir, credsFiles[role]), 'utf8'));
    if (role === 'claims') return identity<{ sys: BusCredentials }>('account-controller').sys;
    if (role === 'callout') return identity<{ callout: BusCredentials }>('registrar').callout;
    if (role === 'notice-probe') return identity<{ noticeProbe: BusCredentials }>('heartbeat').noticeProbe;
    // Nobody keeps these: whoever has the offline keys makes them for one command.
    if (role === 'backup' || role === 'restore' || role === 'mend' || role === 'archive')
      return userWith(otherRoles[role], role);
    return identity<{ bus: BusCredentials }>(role).bus;
  }
  function userWith(role: Role, name: string): BusCredentials {
    const { signers, accounts } = readOfflineKeys(stateDir);
    const key = createNkey('user');
    const { issuer_account: account, ...rights } = userClaims(role, accountKey(hub.keys, role.account));
    // All that sign for agents are scoped, so the root of their account has to.
    const isOfAgents = role.account === 'AGENTS';
    const claims = { ...rights, ...(isOfAgents ? {} : { issuer_account: account }) };
    const others = role.account === 'AUTH' ? signers.auth : signers.hub;
    const jwt = encodeJwt(
      { subject: key.publicKey, name, nowMs: Date.now(), nats: claims },
      nkeyFromSeed(isOfAgents ? accounts.agents : others),
    );
    return { jwt, seed: key.seed };
  }
  async function connectBy(user: BusCredentials, name: string): Promise<NatsConnection> {
    const nc = await connectBus(address, user, name);
    connections.push(nc);
    return nc;
  }
  const connectAs = (role: ServiceName | 'setup' | 'ops' | 'inspector') =>
    connectBy(credentialsOf(role), role);

  return {
    stateDir,
    hub,
    address,
    port,
    websocketPort,
    serviceSettings: (name) => ({
      busServers: address.servers.join(','),
      busCaFile: join(stateDir, 'nats', 'server.pem'),
      identityFile: join(stateDir, 'identities', `${name}.json`),
      logFile: join(stateDir, 'logs', `${name}.log`),
      logLevel: 'debug',
    }),
    connectAs,
    credentialsOf,
    userWith,
    connectWith: connectBy,
    connectAsOperator() {
      const all = { publish: ['>'], subscribe: ['_INBOX_operator.>'] };
      return connectBy(userWith({ account: 'HUB', description: 'a test', ...all }, 'operator'), 'operator');
    },
    openLog: async (service, clock) =>
      openEventLog(await connectAs(service), {
        ...clock,
        epoch: hub.epoch,
        latestEpoch: hub.epoch,
        source: `/rollcall/${service}`,
      }),
    agentCredentials(role, name, { seed, lifeMs = 3_600_000, issuedAtMs: nowMs = Date.now() } = {}) {
      const { agentsAccount, agentSigners } = identity<RegistrarIdentity>('registrar');
      const key = seed === undefined ? createNkey('user') : nkeyFromSeed(seed);
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
    nodes: cluster?.nodes ?? [],
    natsServer: {
      pid: () => nats.server.pid,
      kill: () => nats.server.kill(),
      restart: async () => {
        nats = await start();
      },
      async restartChanged(change) {
        await nats.server.kill();
        const written = readFileSync(join(stateDir, 'nats', 'nats.conf'), 'utf8');
        const configFile = join(stateDir, 'nats', 'changed.conf');
        writeFileSync(configFile, change(written), { mode: 0o600 });
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
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
