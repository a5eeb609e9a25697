import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type BusCredentials, connectBus, connectionOptions, jwtProof } from '@rollcall/shared/bus';
import { agentsAccountClaims, type HubKeys, scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findBinary } from '../../../cli/up/binaries.ts';
import { type ChildHandle, startChild } from '../../../cli/up/process/child-process.ts';
import { loopbackPorts } from '../../../cli/up/loopback-ports.ts';
import { type HubState, openHubState } from '../../../cli/up/state/hub-state.ts';
import { natsServerConfig } from '../../../cli/up/nats/nats-config.ts';
import { writePrivate } from '../../../cli/up/private-files.ts';
import { writeServerCertificate } from '../../../cli/up/state/server-certificate.ts';
import { createClaimsController } from '../reconcile-account-claims.ts';
import { createSystemAccount, type SystemAccount } from '../system-account.ts';

type Name = 'one' | 'two';

let stateDir: string;
let hub: HubState;
let ports: Record<Name | 'oneRoute' | 'twoRoute', number>;
const servers = new Map<Name, ChildHandle>();
const connections: NatsConnection[] = [];
const identity = <Shape>(name: string) =>
  JSON.parse(readFileSync(join(stateDir, 'identities', `${name}.json`), 'utf8')) as Shape;

/** The hub's own configuration, of which two servers make a cluster; without streams, which this is not about. */
async function startServer(name: Name): Promise<void> {
  const files = join(stateDir, 'nats');
  const config = natsServerConfig(hub, {
    host: '127.0.0.1',
    port: ports[name],
    directory: join(stateDir, name),
    certificateFile: join(files, 'server.pem'),
    keyFile: join(files, 'server-key.pem'),
  })
    .replace('server_name: hub', `server_name: ${name}`)
    .replace(/^jetstream: .*$/m, '');
  const routes = `["nats-route://127.0.0.1:${ports.oneRoute}", "nats-route://127.0.0.1:${ports.twoRoute}"]`;
  const cluster = `cluster: { name: hub, listen: "127.0.0.1:${ports[`${name}Route`]}", routes: ${routes} }\n`;
  const configFile = join(stateDir, `${name}.conf`);
  writePrivate(configFile, config + cluster);
  const child = await startChild({
    name: `nats-${name}`,
    command: findBinary('nats-server'),
    args: ['-c', configFile],
    stateDir,
    logPath: join(stateDir, `${name}.log`),
    readyWithinMs: 30_000,
    async isReady() {
      await (await connectSys(name)).flush();
      return true;
    },
  });
  servers.set(name, child);
}

async function connectSys(name: Name): Promise<NatsConnection> {
  const { sys } = identity<{ sys: BusCredentials }>('account-controller');
  const address = { servers: [`127.0.0.1:${ports[name]}`], caPem: hub.caPem };
  const nc = await connectBus(address, sys, 'claims');
  connections.push(nc);
  return nc;
}

async function tryAgent(name: Name, seed: string): Promise<NatsConnection | string> {
  const { agentSigners } = identity<{ agentSigners: Record<string, string> }>('registrar');
  const key = nkeyFromSeed(seed);
  const nowMs = Date.now();
  const nats = scopedUserClaims(hub.keys.agents);
  const claims = { subject: key.publicKey, name: 'one', nowMs, expiresAtMs: nowMs + 3_600_000, nats };
  const jwt = encodeJwt(claims, nkeyFromSeed(agentSigners['member'] ?? ''));
  const address = { servers: [`127.0.0.1:${ports[name]}`], caPem: hub.caPem };
  try {
    const nc = await connect({
      ...connectionOptions(address, 'agent'),
      authenticator: jwtProof({ jwt, seed }),
      reconnect: false,
    });
    connections.push(nc);
    return nc;
  } catch (error) {
    return String(error);
  }
}

beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'rollcall-two-'));
  hub = openHubState(stateDir, Date.now());
  ports = await loopbackPorts(join(stateDir, 'ports.json'), ['one', 'two', 'oneRoute', 'twoRoute']);
  writeServerCertificate(hub, { stateDir, advertised: [], nowMs: Date.now() });
  await Promise.all([startServer('one'), startServer('two')]);
});
afterEach(async () => {
  await Promise.allSettled(connections.map((nc) => nc.close()));
  await Promise.all([...servers.values()].map((server) => server.stop()));
  rmSync(stateDir, { recursive: true, force: true });
});

interface Controller {
  readonly system: SystemAccount;
  readonly taken: { key: string; atMs: number }[];
  keepClaims(): Promise<unknown>;
}

/** As the account-controller has it, on connection to server one; both servers know the account, and each other. */
async function startController(other: string): Promise<Controller> {
  const { hubKeys, operatorSigningSeed } = identity<{ hubKeys: HubKeys; operatorSigningSeed: string }>(
    'account-controller',
  );
  const system = createSystemAccount(await connectSys('one'));
  const taken: { key: string; atMs: number }[] = [];
  const keepClaims = createClaimsController({
    system,
    known: () => ({
      keys: hubKeys,
      agentsAccount: agentsAccountClaims(hubKeys, {}),
      formerAgentSigners: [],
      signer: nkeyFromSeed(operatorSigningSeed),
    }),
    longestLifeMs: 3_600_000,
    nowMs: Date.now,
    readRevokedKeys: () => Promise.resolve({ takenBack: [{ revokedKeys: taken }], givenBack: new Map() }),
  });
  // Each server knows the account from its first agent on.
  for (const name of ['one', 'two'] as const) expect(await tryAgent(name, other)).not.toBeTypeOf('string');
  while ((await system.applied(hub.keys.agents)).length < 2);
  return { system, taken, keepClaims };
}

test('a revocation reaches every server, also one that was down when it was pushed', async () => {
  const other = createNkey('user').seed;
  const { system, taken, keepClaims } = await startController(other);

  const [first, second] = [createNkey('user'), createNkey('user')];
  const connection = await tryAgent('two', first.seed);
  if (typeof connection === 'string') throw new Error(connection);
  taken.push({ key: first.publicKey, atMs: Date.now() });
  await keepClaims();
  await connection.closed();
  for (const name of ['one', 'two'] as const) {
    expect(await tryAgent(name, first.seed)).toContain('Authorization Violation');
  }

  await servers.get('two')?.kill();
  taken.push({ key: second.publicKey, atMs: Date.now() });
  await keepClaims();
  await startServer('two');
  expect(await tryAgent('two', other)).not.toBeTypeOf('string');
  while ((await system.applied(hub.keys.agents)).length < 2);
  // As the check of every minute does; without it the servers' own exchange takes up to ten seconds.
  await keepClaims();
  expect(await tryAgent('two', second.seed)).toContain('Authorization Violation');
});

test('a server that does not answer is neither one that acts on the list nor one without connections', async () => {
  const { system, taken, keepClaims } = await startController(createNkey('user').seed);
  const agent = createNkey('user');
  expect(await tryAgent('two', agent.seed)).not.toBeTypeOf('string');
  const two = servers.get('two')?.pid ?? 0;
  process.kill(two, 'SIGSTOP');
  try {
    taken.push({ key: agent.publicKey, atMs: Date.now() });
    const refusal = { code: 'CLAIMS_NOT_APPLIED', message: expect.stringContaining('1 of 2 NATS servers') };
    const keys = [agent.publicKey, createNkey('user').publicKey];
    await Promise.all([
      expect(keepClaims()).rejects.toMatchObject(refusal),
      expect(system.connectionsOfEach(hub.keys.agents, keys)).rejects.toMatchObject(refusal),
    ]);
  } finally {
    process.kill(two, 'SIGCONT');
  }
  await vi.waitFor(() => keepClaims(), 30_000);
  expect(await tryAgent('two', agent.seed)).toContain('Authorization Violation');
});
