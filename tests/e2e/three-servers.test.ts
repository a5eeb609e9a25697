import { connect, type NatsConnection } from '@nats-io/transport-node';
import { directoryKeyStore } from '@rollcall/agent';
import { type BusCredentials, connectionOptions, jwtProof, streamManager } from '@rollcall/shared/bus';
import type { StoredEvent } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NatsNode } from '../../cli/up/nats/nats-cluster.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { areAllCurrent, goOn, leaderOf, pause } from '../harness/nats-nodes.ts';

/**
 * The hub on three NATS servers: what dies, and what must not be noticed of it. Steps of a join, once each, are counted over the
 * whole history at the end of every test.
 */
let hub: TestEmbeddedHub;
let ops: NatsConnection;
let nodes: readonly NatsNode[];
beforeAll(async () => {
  hub = await startTestEmbeddedHub({ servers: 3, websocket: 'localhost:0' });
  nodes = hub.up.natsCluster?.nodes ?? [];
  ops = await connectAsInspector(hub.up.stateDir, hub.up.natsAddress);
});
afterAll(async () => {
  await ops.close();
  await hub[Symbol.asyncDispose]();
});

const once = ['requested', 'approved', 'admitted', 'provisioned', 'joined'];

async function eventsOf(names: readonly string[]): Promise<StoredEvent[]> {
  const events = await Array.fromAsync(hub.log.scan({ filter: 'cluster.*.*' }));
  return events.filter(({ id }) => names.includes(id));
}

async function expectEachStepOnce(names: readonly string[]): Promise<void> {
  await until('every step is written', async () => {
    const events = await eventsOf(names);
    return names.every((name) =>
      once.every((type) => events.some((one) => one.id === name && one.type === type)),
    );
  });
  const events = await eventsOf(names);
  for (const name of names)
    for (const type of once)
      expect(
        events.filter((one) => one.id === name && one.type === type),
        `${name} ${type}`,
      ).toHaveLength(1);
  // Whoever sent heartbeats all the time was never declared dead.
  expect(events.filter(({ type }) => type === 'unreachable')).toEqual([]);
}

/** Begins joins, one after the other, that go on while something happens to the servers. */
async function joining(prefix: string, count: number, meanwhile: () => Promise<void>): Promise<string[]> {
  const token = await until('a token', () => hub.createToken({ uses: count }));
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const joins = Promise.all(names.map((name) => hub.startAgent({ name, token: token.text })));
  await meanwhile();
  await joins;
  await Promise.all(names.map((name) => hub.untilReady(name)));
  return names;
}

const untilLeader = () => until('a leader', () => leaderOf(ops, nodes));
const untilCurrent = () => until('all servers have everything', () => areAllCurrent(ops));

test('every stream and consumer is kept by all three', async () => {
  const jsm = await streamManager(ops);
  for (const name of ['EVENTS', 'FACTS', 'DEAD']) {
    const { config } = await jsm.streams.info(name);
    expect({ name, replicas: config.num_replicas }).toEqual({ name, replicas: 3 });
  }
});

const overWebSocket = () => hub.up.addresses.filter((address) => address.startsWith('wss://'));

test('agents reach each of them either way', async () => {
  expect(overWebSocket()).toHaveLength(3);
  const names = await Promise.all(
    hub.up.addresses.map(async (address, index) => {
      const name = `either-way-${index}`;
      await hub.startAgent({ name, token: (await hub.createToken()).text, more: { hub: [address] } });
      await hub.untilReady(name);
      return name;
    }),
  );
  expect(names).toHaveLength(6);
  await expectEachStepOnce(names);
});

test('a member over WebSocket goes on by another server, whichever is killed', async () => {
  const name = 'over-websocket';
  const { text: token } = await hub.createToken();
  const { phases } = await hub.startAgent({ name, token, more: { hub: overWebSocket() } });
  await hub.untilReady(name);
  const connected = () =>
    phases.filter(({ phase, message }) => phase === 'connect' && message.includes('member')).length;
  const before = connected();
  for (const node of nodes) {
    await node.server().kill();
    await node.start();
    await untilCurrent();
  }
  await until('it is connected again', async () => connected() > before);
  await hub.untilReady(name);
  await expectEachStepOnce([name]);
});

test('the leader is killed in the middle of joins, twice: all are Ready, no step is lost or doubled', async () => {
  const names = await joining('leader', 12, async () => {
    for (let kill = 0; kill < 2; kill++) {
      const leader = await untilLeader();
      await leader.server().kill();
      await until('another one leads', async () => {
        const next = await leaderOf(ops, nodes);
        return next !== undefined && next !== leader;
      });
      await leader.start();
      await untilCurrent();
    }
  });
  await expectEachStepOnce(names);
});

test('two of three are lost: nothing acknowledged is gone, joins wait, and go on by themselves', async () => {
  const before = await joining('before-loss', 3, async () => undefined);
  const acknowledged = await Array.fromAsync(hub.log.scan({}));
  const token = await hub.createToken();
  const [one, two] = nodes;
  if (!one || !two) throw new Error('no servers');
  await Promise.all([one.server().kill(), two.server().kill()]);
  const { phases } = await hub.startAgent({ name: 'in-between', token: token.text });
  // No quorum: who asks for a token to be known waits, and so does the agent.
  await until('the streams have no leader', async () => (await leaderOf(ops, nodes)) === undefined);
  expect(phases.some(({ phase }) => phase === 'ready')).toBe(false);
  await Promise.all([one.start(), two.start()]);
  await untilCurrent();
  await hub.untilReady('in-between');
  const after = await Array.fromAsync(hub.log.scan({}));
  expect(after.slice(0, acknowledged.length).map(({ digest }) => digest)).toEqual(
    acknowledged.map(({ digest }) => digest),
  );
  await expectEachStepOnce([...before, 'in-between']);
});

test('the leader hangs, and is killed before it can go on: joins go on without it', async () => {
  const names = await joining('pause', 8, async () => {
    const leader = await untilLeader();
    const { servers, ...address } = hub.up.natsAddress;
    // Whoever is connected with the one that hangs notices it a minute later, and asks nobody meanwhile.
    const others = servers.filter((_, index) => nodes[index] !== leader);
    const besides = await connectAsInspector(hub.up.stateDir, { ...address, servers: others });
    pause(leader);
    await until('another one leads', async () => {
      const next = await leaderOf(besides, nodes);
      return next !== undefined && next !== leader;
    });
    await besides.close();
    goOn(leader);
    await leader.server().kill();
    await leader.start();
    await untilCurrent();
  });
  await expectEachStepOnce(names);
});

test('the servers are restarted one after the other while clusters join', async () => {
  const names = await joining('rolling', 12, async () => {
    for (const node of nodes) {
      await node.server().stop();
      await node.start();
      await untilCurrent();
    }
  });
  await expectEachStepOnce(names);
});

test('a server that was away when a key was taken back refuses it all the same', async () => {
  const late = nodes[2];
  if (!late) throw new Error('no servers');
  const name = 'late';
  const { directory } = await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  const { member, seed = '' } = (await directoryKeyStore(directory).load()) ?? {};
  const credentials = { jwt: member?.jwt ?? '', seed };
  const isLetIn = () => letsIn(late, credentials);
  // It was started again a moment ago.
  await expect.poll(isLetIn).toBe(true);
  await late.server().kill();
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, name, {
    spec: { decision: { verdict: 'Deny', reason: 'lost' } },
  });
  await until('the key is cut', async () => (await eventsOf([name])).some(({ type }) => type === 'cut'));
  await late.start();
  await until('it is refused there, too', async () => !(await isLetIn()));
});

async function letsIn(node: NatsNode, credentials: BusCredentials): Promise<boolean> {
  const address = { servers: [`127.0.0.1:${node.port}`], caPem: hub.up.hub.caPem };
  const options = {
    ...connectionOptions(address, 'agent'),
    authenticator: jwtProof(credentials),
    reconnect: false,
  };
  return connect(options).then(
    (nc) => nc.close().then(() => true),
    () => false,
  );
}
