import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createKubeClient,
  isAlreadyExists,
  type KubeClient,
  kubeconfigYaml,
  resources,
  watchResource,
} from '@rollcall/shared/kubernetes';
import { beforeAll, expect, test } from 'vitest';
import { startCli } from '../../cli/tests/run-cli.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import { bindRole } from '../harness/control-plane.ts';
import { coldBuildMs, goProgram, hasGo } from '../harness/go-programs.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { serveInProcess } from '../harness/service-process.ts';

const name = 'restarted';
const person = 'watcher';
const informers = 50;
const namespace = 'default';
const labelSelector = 'test=restarts';
const { configMaps } = resources;

let fleetClient: string | undefined;
beforeAll(async () => {
  if (hasGo()) fleetClient = await goProgram('fleet-client', 'fleet-client');
}, coldBuildMs);

/** What a Service is for the API server: one address, and behind it each replica in turn, or the other where one is gone. */
async function balance(port: number, behind: readonly number[]): Promise<AsyncDisposable> {
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const first = turn++;
    const tryAt = (attempt: number): void => {
      if (attempt === behind.length) return void socket.destroy();
      const replica = connect(behind[(first + attempt) % behind.length] ?? 0, '127.0.0.1');
      replica.once('connect', () => {
        sockets.add(replica);
        replica.off('error', next);
        replica.on('error', () => undefined).once('close', () => socket.destroy());
        socket.once('close', () => replica.destroy());
        socket.pipe(replica).pipe(socket);
      });
      const next = () => tryAt(attempt + 1);
      replica.once('error', next);
    };
    socket.on('error', () => undefined);
    tryAt(0);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** An agent in a process of its own. */
async function agentOf(hub: TestEmbeddedHub, folder: string) {
  const kubeconfig = join(folder, 'member.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
  const token = await hub.createToken();
  const [address = ''] = hub.up.addresses;
  const trust = ['--ca-cert-hash', hub.up.hub.caCertHash, '--member-kubeconfig', kubeconfig];
  const who = ['--cluster-name', name, '--client-id', name, '--state-dir', join(folder, 'keys')];
  const asWhom = ['--member-access', `user:${person}`, '--run', '--token', token.text];
  return async () => {
    const agent = startCli(['register', address, ...trust, ...who, ...asWhom], { directory: folder });
    await agent.line(/\[ready\]/);
    return agent;
  };
}

/** The newest, to be shown where nobody comes back. */
let trouble = '';
const noteTrouble = (error: unknown): void => void (trouble = String(error));

/** What one informer was told of each object. */
function inform(client: KubeClient, signal: AbortSignal): { told: string[]; ended: Promise<void> } {
  const told: string[] = [];
  const ended = watchResource(client, configMaps, {
    namespace,
    labelSelector,
    signal,
    onError: noteTrouble,
    onEvent: ({ kind, object }) => void told.push(`${kind} ${object.metadata.name}`),
  });
  return { told, ended };
}

/**
 * The same of an informer of client-go, which tells what it was shown again as changed.
 * @returns undefined where there is no Go
 */
function informByClientGo(kubeconfig: string, folder: string) {
  if (fleetClient === undefined) return undefined;
  const file = join(folder, 'person.kubeconfig');
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  const program = spawn(fleetClient, ['watch', file, namespace]);
  let output = '';
  program.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  program.stderr.setEncoding('utf8').on('data', noteTrouble);
  return {
    /** Of objects that were added, as often as that was told. */
    told: () => [...output.matchAll(/^(added written-\d+) /gm)].map(([, added = '']) => added),
    async [Symbol.asyncDispose]() {
      if ((program.exitCode ?? program.signalCode) !== null) return;
      program.kill();
      await once(program, 'close');
    },
  };
}

test('gateway, agent, NATS and the API server of the hub are killed in turn: fifty informers, one of client-go and a loop of lists come back by themselves, and nothing is lost or told twice', async () => {
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-restarts-'));
  started.defer(() => rmSync(folder, { recursive: true, force: true }));
  const ports = await loopbackPorts(join(folder, 'ports.json'), ['inside', 'outside']);
  const ofGateway = { healthPort: '0', servingPort: String(ports.inside) };
  const hub = started.use(
    await startTestEmbeddedHub({ ownPlane: true, settings: { 'member-gateway': ofGateway } }),
  );
  const { memberGateway } = hub.up.serviceOptions;
  started.use(await balance(Number(memberGateway?.['servingPort']), [ports.outside, ports.inside]));
  const settings = {
    ...serviceSettings(hub.up.serviceOptions)['member-gateway'],
    servingPort: String(ports.outside),
  };
  const secondGateway = () =>
    serveInProcess('member-gateway', { label: 'second-gateway', stateDir: hub.up.stateDir, settings });
  let gateway = await secondGateway();
  started.defer(() => gateway.stop());
  const startAgent = await agentOf(hub, folder);
  let agent = await startAgent();
  started.defer(() => agent[Symbol.asyncDispose]());
  await bindRole(hub.up.admin, `rollcall:${person}`, 'system:aggregate-to-view');
  await until('the hub shows who gets in', async () => (await hub.cluster(name))?.status?.memberAccess);

  const access = hub.up.plane.userAccess(person, ['system:masters']);
  const path = `/apis/proxy.rollcall.dev/v1alpha1/managedclusters/${name}/proxy`;
  const throughHub = { ...access, server: `${access.server}${path}` };
  const client = createKubeClient(throughHub, { fieldManager: 'test', userAgent: 'test' });
  const byClientGo = informByClientGo(kubeconfigYaml(throughHub), folder);
  if (byClientGo) started.use(byClientGo);
  started.defer(() => client.close());
  const ending = new AbortController();
  const written: string[] = [];
  const hasWritten = new AbortController();
  const all = Array.from({ length: informers }, () => inform(client, ending.signal));
  async function write(): Promise<void> {
    const metadata = { name: `written-${written.length}`, namespace, labels: { test: 'restarts' } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    try {
      await hub.up.admin.create(configMaps, object, { namespace });
    } catch (thrown) {
      // What got no answer may be there all the same; the next try says so.
      if (!isAlreadyExists(thrown)) return noteTrouble(thrown);
    }
    written.push(metadata.name);
  }
  async function writeOn(): Promise<void> {
    for (; !hasWritten.signal.aborted; await delay(100)) await write();
  }
  let lists = 0;
  async function listOn(): Promise<void> {
    for (; !ending.signal.aborted; await delay(20)) {
      const before = [...written];
      const listed = await client.list(configMaps, { namespace, labelSelector }).catch(noteTrouble);
      if (listed === undefined) continue;
      const there = new Set(listed.map(({ metadata }) => metadata.name));
      expect(before.filter((one) => !there.has(one))).toEqual([]);
      lists++;
    }
  }
  /** Waits until everybody has been told of the newest and what is written after it, if any is, and lists go on. */
  async function caughtUp(what: string): Promise<void> {
    const before = written.length;
    await until(
      `something is written ${what}`,
      async () => hasWritten.signal.aborted || written.length > before,
    );
    const last = `added ${written.at(-1)}`;
    const listsBefore = lists;
    const isTold = () => all.filter(({ told }) => told.includes(last)).length;
    await until(
      `everybody has caught up ${what}`,
      async () =>
        lists > listsBefore && isTold() === informers && (byClientGo?.told().includes(last) ?? true),
    ).catch((cause: unknown) => {
      throw new Error(`${isTold()} of ${informers}, ${lists - listsBefore} lists: ${trouble}`, { cause });
    });
  }
  const writing = writeOn();
  const listing = listOn();
  try {
    await caughtUp('at first');
    await gateway.kill();
    await caughtUp('without one gateway');
    gateway = await secondGateway();
    agent.child.kill('SIGKILL');
    await agent.result;
    agent = await startAgent();
    await caughtUp('with another agent');
    await hub.up.restartNats();
    await caughtUp('after NATS was restarted');
    await hub.up.plane.kill('kube-apiserver');
    await hub.up.plane.restart('kube-apiserver');
    await caughtUp('after the API server was restarted');
    hasWritten.abort();
    await writing;
    await caughtUp('with all that was written');
  } finally {
    hasWritten.abort();
    ending.abort();
    await Promise.all([writing, listing]);
  }
  await Promise.all(all.map(({ ended }) => ended));
  await byClientGo?.[Symbol.asyncDispose]();
  const eachOnce = written.map((one) => `added ${one}`).toSorted();
  for (const { told } of all) expect(told.toSorted()).toEqual(eachOnce);
  expect(byClientGo?.told().toSorted() ?? eachOnce).toEqual(eachOnce);
  const outside = JSON.parse(readFileSync(join(hub.up.stateDir, 'second-gateway-ports.json'), 'utf8')) as {
    health: number;
  };
  const inside = hub.up.services.find((service) => service.name === 'member-gateway')?.healthPort;
  await until('no stream is left', async () => {
    const texts = await Promise.all(
      [outside.health, inside].map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
    );
    return texts.every((text) => /^rollcall_gateway_streams 0$/m.test(text));
  });
});
