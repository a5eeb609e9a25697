import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { type BusCredentials, connectionOptions, followEvents, jwtProof } from '@rollcall/shared/bus';
import type { Outage } from '@rollcall/shared/events';
import { agentsAccountClaims, userClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import { findBinary } from '../../../cli/up/binaries.ts';
import { type ChildHandle, startChild } from '../../../cli/up/process/child-process.ts';
import { loopbackPorts } from '../../../cli/up/loopback-ports.ts';
import { credsFile } from '../../../cli/up/state/hub-state.ts';
import { readOfflineKeys } from '../../../cli/up/state/offline-keys.ts';
import { startHubOfTest } from '../../../tests/harness/hub-of-test.ts';
import type { TestHub } from '../../../tests/harness/test-hub.ts';
import {
  admitMember,
  keepSendingHeartbeats,
  pushClaims,
  startHeartbeat,
  surroundingsOf,
} from './test-member.ts';

interface Leaf {
  readonly port: number;
  readonly server: ChildHandle;
}

/** No hub makes such a user: it speaks for all agents behind the leaf, and comes over a kind of connection that none of ours may use. */
function leafUser(accountKey: string, signer: Nkey): BusCredentials {
  const { publicKey, seed } = createNkey('user');
  const role = { account: 'AGENTS', publish: ['>'], subscribe: ['>'], description: 'a leaf server' } as const;
  const { issuer_account: account, ...rights } = userClaims(role, accountKey);
  // The root of an account signs without naming it.
  const issuer = signer.publicKey === accountKey ? {} : { issuer_account: account };
  const nats = { ...rights, ...issuer, allowed_connection_types: ['LEAFNODE'] };
  return { jwt: encodeJwt({ subject: publicKey, name: 'leaf', nowMs: Date.now(), nats }, signer), seed };
}

/** @returns users for a leaf server, and the claims of AGENTS with a key that the one there is signed by */
async function letLeafIn(hub: TestHub) {
  const { keys } = hub.hub;
  const { accounts } = readOfflineKeys(hub.stateDir);
  const signer = createNkey('account');
  const claims = agentsAccountClaims(keys, {}) as { signing_keys: unknown[] };
  const nats = { ...claims, signing_keys: [...claims.signing_keys, signer.publicKey] };
  const agentsJwt = await pushClaims(hub, { account: 'AGENTS', nats });
  const users = {
    [keys.agents]: leafUser(keys.agents, signer),
    [keys.sys]: leafUser(keys.sys, nkeyFromSeed(accounts.sys)),
  };
  return { users, agentsJwt };
}

/** A NATS server at a place of its own, which carries the agents there, and the notices about them, to the hub over one connection each. */
async function startLeaf(hub: TestHub): Promise<Leaf> {
  const { keys, accountJwts, operatorJwt } = hub.hub;
  const { leafnodes, leaf: port } = await loopbackPorts(join(hub.stateDir, 'leaf-ports.json'), [
    'leafnodes',
    'leaf',
  ]);
  const { users, agentsJwt } = await letLeafIn(hub);
  await hub.natsServer.restartChanged(
    (config) => `${config}leafnodes: { listen: "127.0.0.1:${leafnodes}" }\n`,
  );
  const directory = join(hub.stateDir, 'leaf');
  mkdirSync(directory, { recursive: true });
  const remotes = Object.entries(users).map(([account, credentials], index) => {
    const file = join(directory, `${index}.creds`);
    writeFileSync(file, credsFile(credentials), { mode: 0o600 });
    return `{ url: "nats-leaf://127.0.0.1:${leafnodes}", account: ${account}, credentials: "${file}" }`;
  });
  const jwts = Object.entries({ ...accountJwts, [keys.agents]: agentsJwt });
  const file = (name: string) => join(hub.stateDir, 'nats', name);
  const config = join(directory, 'leaf.conf');
  writeFileSync(
    config,
    `server_name: leaf
listen: "127.0.0.1:${port}"
operator: "${operatorJwt}"
system_account: ${keys.sys}
resolver: MEMORY
resolver_preload: { ${jwts.map(([account, jwt]) => `${account}: "${jwt}"`).join('\n')} }
tls: { cert_file: "${file('server.pem')}", key_file: "${file('server-key.pem')}", handshake_first: true }
leafnodes: { remotes: [ ${remotes.join(', ')} ] }
`,
    { mode: 0o600 },
  );
  const probe = hub.agentCredentials('member', 'leaf-probe');
  const server = await startChild({
    name: 'leaf-server',
    command: findBinary('nats-server'),
    args: ['-c', config],
    stateDir: hub.stateDir,
    logPath: join(hub.stateDir, 'logs', 'leaf-server.log'),
    readyWithinMs: 30_000,
    isReady: async () => {
      const options = connectionOptions({ ...hub.address, servers: [`127.0.0.1:${port}`] }, 'agent');
      await (await connect({ ...options, reconnect: false, authenticator: jwtProof(probe) })).close();
      return true;
    },
  });
  onTestFinished(() => server.stop());
  return { port, server };
}

test('agents behind a leaf server are a group of their own: that it is gone is an outage of that group', async () => {
  const hub = await startHubOfTest();
  const leaf = await startLeaf(hub);
  const around = await surroundingsOf(hub);
  const settings = {
    // Of the whole fleet it is never one.
    outageShare: '1',
    outageMinimum: '1',
    outageDeadline: '60s',
    // The leaf has no JetStream, and says so when the servers are asked how theirs is set.
    allowUnsafeBus: 'true',
  };
  await startHeartbeat(hub, settings);
  const atLeaf = { ...hub.address, servers: [`127.0.0.1:${leaf.port}`] };
  const places = { leaf: { ...around, hub: { ...hub, address: atLeaf } }, hub: around };
  const heartbeat = { intervalSeconds: 1, graceSeconds: 3 };
  const join3 = async (place: keyof typeof places) =>
    Promise.all(
      [1, 2, 3].map(async (number) => {
        const member = await admitMember(places[place], `at-${place}-${number}`, heartbeat);
        const nc = await member.connect();
        onTestFinished(() => nc.close());
        onTestFinished(keepSendingHeartbeats(nc, member.clusterId));
        await member.event('joined');
        return member;
      }),
    );
  const [behind, direct] = await Promise.all([join3('leaf'), join3('hub')]);
  await leaf.server.kill();
  const ending = new AbortController();
  const outages = { filter: 'hub.*.outage', fromSequence: 1, signal: ending.signal };
  for await (const { section } of followEvents(around.ops, around.opsLog, outages)) {
    expect(section as Outage).toMatchObject({
      silent: expect.any(Number),
      known: 3,
      group: { kind: 'server', name: 'leaf' },
    });
    break;
  }
  for (const member of direct) expect(await member.history()).toEqual(['joined']);
  for (const member of behind) expect(await member.history()).not.toContain('unreachable');
});
