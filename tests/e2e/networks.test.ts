import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import {
  directoryHubAccess,
  directoryKeyStore,
  forgetDirectory,
  type HubNetwork,
  parseHostAliases,
  parseProxy,
  type PhaseEvent,
  runAgent,
  type RunningAgent,
} from '@rollcall/agent';
import { clusterRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openFlakyNetwork } from '../../cli/simulate/clusters/flaky-network.ts';
import { tellAddresses } from '../../cli/trust/tell-addresses.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { type ConnectProxy, startConnectProxy } from '../harness/connect-proxy.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
let proxies: Record<'plain' | 'plainToWebSocket' | 'tls', ConnectProxy>;
const credentials = { user: 'edge', password: 'p@ss:word/1' };

const placeOf = (address: string) => {
  const { hostname, port } = new URL(address.replace(/^(wss:\/\/)?/, 'http://'));
  return { host: '127.0.0.1', hostname, port: Number(port) };
};
const nats = () => placeOf(hub.up.addresses[0] ?? '');
const webSocket = () => placeOf(hub.up.addresses.find((one) => one.startsWith('wss://')) ?? '');

beforeAll(async () => {
  hub = await startTestEmbeddedHub({
    websocket: 'localhost:0',
    // Short-lived, so that renewals happen while the test looks.
    settings: { approver: { bulkPerMinute: '1000' }, registrar: { memberLife: '20s' } },
  });
  proxies = {
    plain: await startConnectProxy({ target: nats }),
    plainToWebSocket: await startConnectProxy({ target: webSocket, credentials }),
    tls: await startConnectProxy({ target: nats, isTls: true, credentials }),
  };
  // People decide about these clusters, and they are given access.
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'by-a-person' },
    spec: { rules: [{ name: 'wait', when: 'request.clusterName.startsWith("over-")', effect: 'Hold' }] },
  } as never);
  await until('the policy is declared', async () => {
    const { newest } = await hub.log.read({ kind: 'policy', id: 'by-a-person' });
    return newest?.type === 'declared';
  });
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await Promise.all(Object.values(proxies ?? {}).map((proxy) => proxy[Symbol.asyncDispose]()));
});

/** Goes with the hub. */
const aDirectory = () => mkdtempSync(join(hub.up.stateDir, 'agent-'));
const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', hub.up.plane.adminKubeconfigPath]);
const record = async (name: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));

/** A port at which nobody answers: only the proxy knows where it leads. */
const beyond = 'localhost:1';

const ways: readonly {
  name: string;
  id: string;
  way: () => { hub: string; network: HubNetwork; proxy?: ConnectProxy };
}[] = [
  {
    name: 'by a name that only a host alias knows',
    id: 'over-an-alias',
    way: () => ({
      hub: `localhost:${nats().port}`,
      network: { hostAliases: parseHostAliases(['localhost=127.0.0.1']) },
    }),
  },
  {
    name: 'through a proxy',
    id: 'over-a-proxy',
    way: () => ({
      hub: beyond,
      network: { proxy: parseProxy(proxies.plain.url) },
      proxy: proxies.plain,
    }),
  },
  {
    name: 'through a proxy over TLS with credentials',
    id: 'over-a-tls-proxy',
    way: () => ({
      hub: beyond,
      network: { proxy: parseProxy(proxies.tls.urlWithCredentials), proxyCaPem: proxies.tls.caPem },
      proxy: proxies.tls,
    }),
  },
  {
    name: 'over WebSocket',
    id: 'over-websocket',
    way: () => ({ hub: `wss://localhost:${webSocket().port}`, network: {} }),
  },
  {
    name: 'over WebSocket through a proxy with credentials',
    id: 'over-websocket-and-a-proxy',
    way: () => ({
      hub: `wss://${beyond}`,
      network: { proxy: parseProxy(proxies.plainToWebSocket.urlWithCredentials) },
      proxy: proxies.plainToWebSocket,
    }),
  },
];

interface Life {
  readonly agent: RunningAgent;
  readonly phases: readonly PhaseEvent[];
  readonly kubeconfig: string;
  said(phase: string, from?: number, fits?: (event: PhaseEvent) => boolean): Promise<boolean>;
}

/** All at once, because most of a life is waiting; they share one restart of NATS. */
describe('a whole life', () => {
  const lives = new Map<string, Life>();
  const lifeOf = (id: string): Life => {
    const life = lives.get(id);
    if (!life) throw new Error(`${id} was not let in`);
    return life;
  };
  afterAll(() => Promise.all([...lives.values()].map(({ agent }) => agent.stop())));

  test.concurrent.each(ways)(
    '$name: token, wait, approval, heartbeats, renewals, facts, access, a new key, cuts',
    async ({ id, way }) => {
      const { hub: address, network, proxy } = way();
      const directory = aDirectory();
      const store = directoryKeyStore(directory);
      const phases: PhaseEvent[] = [];
      const said: Life['said'] = (phase, from = 0, fits = () => true) =>
        until(`the agent says ${phase}`, async () =>
          phases.slice(from).some((event) => event.phase === phase && fits(event)),
        );
      const agent = await runAgent({
        hub: [address],
        network,
        trust: { pins: [hub.up.hub.caCertHash] },
        token: (await hub.createToken()).text,
        member: hub.up.plane.access,
        store,
        hubAccess: directoryHubAccess(directory),
        uninstall: forgetDirectory(directory),
        clusterName: id,
        clientId: id,
        version: rollcallVersion,
        // Who was put out asks again after minutes, else.
        patience: { refusedRetryMs: 1000 },
        onPhase: (event) => phases.push(event),
      });
      const kubeconfig = join(directory, 'hub.kubeconfig');
      lives.set(id, { agent, phases, kubeconfig, said });
      await said('waiting', 0, ({ detail }) => detail.reason !== 'Pending');
      expect(await rollcall('approve', id)).toMatchObject({ code: 0 });
      await agent.admitted();
      const ready = await hub.untilReady(id);
      await until('its facts are shown', async () => {
        return (await hub.cluster(id))?.status?.kubernetesVersion !== undefined;
      });
      expect(ready.metadata.name).toBe(id);
      await said('renew');

      await hub.up.admin.mergePatch(resources.managedClusters, id, { spec: { access: 'Namespace' } });
      await until('it has a kubeconfig for the hub', async () => existsSync(kubeconfig));

      const before = (await store.load())?.seed ?? '';
      agent.rotate();
      await until('its new key is in, and the former one is out', async () => {
        const { decision, identity } = await record(id);
        const former = nkeyFromSeed(before).publicKey;
        const isOut = decision?.revokedKeys.some(({ key }) => key === former) ?? false;
        return isOut && identity?.rotatedFrom === former;
      });

      if (proxy) {
        const askedBefore = proxy.asked.length;
        proxy.cutAll();
        // Without a word where it was renewing just then.
        await until(
          'it is connected again',
          async () => proxy.asked.length > askedBefore && proxy.open() > 0,
        );
      }
    },
  );

  test('the bus is away for a moment: all come back by themselves', async () => {
    expect(lives.size).toBe(ways.length);
    const from = new Map([...lives].map(([id, { phases }]) => [id, phases.length]));
    await hub.up.restartNats();
    for (const [id, { said }] of lives) {
      await said('connect', from.get(id), ({ message }) => message.includes('member'));
      await hub.untilReady(id);
    }
  });

  test.concurrent.each(ways)(
    '$name: revocation, and in again; nothing is left of who leaves',
    async ({ id }) => {
      const { agent, phases, kubeconfig } = lifeOf(id);
      const from = phases.length;
      expect(await rollcall('revoke', id)).toMatchObject({ code: 0 });
      await until('the agent hears that it is out', async () =>
        phases.slice(from).some(({ detail }) => detail.code === 'CLUSTER_REVOKED'),
      );
      expect(await rollcall('approve', id)).toMatchObject({ code: 0 });
      await hub.untilReady(id);

      const lost = (await hub.log.readAll(`cluster.${id}.unreachable`)).length;
      expect(lost).toBe(0);
      expect(await rollcall('unregister', id)).toMatchObject({ code: 0 });
      await agent.left();
      await until('nothing is left of it on the hub', async () => (await hub.cluster(id)) === undefined);
      expect(existsSync(kubeconfig)).toBe(false);
      await agent.stop();
      const secrets = JSON.stringify(phases);
      expect(secrets).not.toContain(credentials.password);
      expect(secrets).not.toContain(encodeURIComponent(credentials.password));
    },
  );
});

test.each(ways.filter(({ id }) => id.endsWith('proxy')))(
  'a connection $name that is cut is noticed as such, before any heartbeat is missed',
  async ({ id, way }) => {
    const { hub: address, network, proxy } = way();
    const name = `${id}-cut`;
    const phases: PhaseEvent[] = [];
    const agent = await runAgent({
      hub: [address],
      network,
      trust: { pins: [hub.up.hub.caCertHash] },
      token: (await hub.createToken({ clusterName: name })).text,
      member: hub.up.plane.access,
      store: directoryKeyStore(aDirectory()),
      clusterName: name,
      clientId: name,
      version: rollcallVersion,
      onPhase: (event) => phases.push(event),
    });
    try {
      await until('it waits', async () => phases.some(({ phase }) => phase === 'waiting'));
      expect(await rollcall('approve', name)).toMatchObject({ code: 0 });
      await hub.untilReady(name);
      proxy?.become('refuse');
      proxy?.cutAll();
      const lost = await hub.untilReady(name, 'Unknown');
      expect(conditionOf(lost, 'Ready')?.reason).toBe('ConnectionLost');
    } finally {
      proxy?.become('open');
      await agent.stop();
    }
  },
);

test(
  'a hub that moves: agents hear of its new address, the old one goes, and nobody touches the member [X-7]',
  { timeout: 240_000 },
  async () => {
    const id = 'moves-along';
    await using former = await openFlakyNetwork(nats());
    await using next = await openFlakyNetwork(nats());
    const addressOf = ({ port }: { port: number }) => `localhost:${port}`;
    const store = directoryKeyStore(aDirectory());
    const phases: PhaseEvent[] = [];
    const token = (await hub.createToken()).text;
    const run = () =>
      runAgent({
        hub: [addressOf(former)],
        trust: { pins: [hub.up.hub.caCertHash] },
        token,
        member: hub.up.plane.access,
        store,
        clusterName: id,
        clientId: id,
        version: rollcallVersion,
        onPhase: (event) => phases.push(event),
      });
    /** Connected anew, or answered: a renewal makes a connection too, by the addresses of then. */
    const isConnected = (from: number) =>
      until('it is connected', async () =>
        phases
          .slice(from)
          .some(
            ({ phase, message }) => phase === 'renew' || (phase === 'connect' && message.includes('member')),
          ),
      );
    const told = (addresses: readonly string[]) =>
      until(
        'the agent has heard and kept it',
        async () => addresses.join() === ((await store.load())?.hubAddresses ?? []).join(),
      );
    let agent = await run();
    try {
      await agent.admitted();
      await hub.untilReady(id);
      await tellAddresses([addressOf(former), addressOf(next)], {}, hub.up.stateDir);
      await told([addressOf(former), addressOf(next)]);
      await until('it is in the history', async () => {
        const last = (await hub.log.readAll('hub.trust.trust-announced')).at(-1);
        const { addresses = [] } = (last?.section ?? {}) as { addresses?: string[] };
        return addresses.includes(addressOf(next)) && last?.by?.person === 'rollcall-admin';
      });
      await tellAddresses([addressOf(next)], {}, hub.up.stateDir);
      await told([addressOf(next)]);
      let from = phases.length;
      former.become('cut');
      await isConnected(from);
      await hub.untilReady(id);

      // Nor does a restart need anybody: the agent is started with the address that is gone.
      await agent.stop();
      from = phases.length;
      agent = await run();
      await isConnected(from);

      const mistaken = ['localhost:1'];
      await tellAddresses(mistaken, {}, hub.up.stateDir);
      await told(mistaken);
      former.become('open');
      from = phases.length;
      next.become('cut');
      await isConnected(from);
      await hub.untilReady(id);
      expect((await store.load())?.hubAddresses).toEqual(mistaken);
    } finally {
      await agent.stop();
    }
  },
);
