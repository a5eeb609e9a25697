import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { helm } from '../charts/helm.ts';
import { hubServices } from '../charts/one-machine.ts';
import { conditionOf } from '../harness/embedded.ts';
import { charts, hubNamespace, type InstalledHub, startInstalledHub } from './installed-hub.ts';
import { type NodeCluster, startNodeCluster, tellPodsWhenFailed } from './node-cluster.ts';
import { personWith, untilSaid } from './people-in-a-member.ts';
import { untilOnNodes } from './until-on-nodes.ts';

describe.skipIf(inject('nodes').whyNot)('a hub on a node, and a member on another', () => {
  let hub: InstalledHub;
  let member: NodeCluster;
  tellPodsWhenFailed(() => hub);
  beforeAll(async () => {
    hub = await startInstalledHub(1);
    member = await startNodeCluster(2);
  });
  afterAll(async () => {
    await member?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  test('no container of a clean install is started twice', async () => {
    expect(await hub.restarts(hubNamespace)).toBe(0);
    expect(await hub.restarts('rollcall-agent')).toBe(0);
  });

  test('the server has the one claim that the installation made', async () => {
    const all = await hub.kubectl('get', 'pvc', '--namespace', hubNamespace, '--output', 'name');
    expect(all.trim()).toBe('persistentvolumeclaim/data-rollcall-nats-0');
  });

  test('a member elsewhere comes by Helm and a published token', async () => {
    const naming = ['--name', 'edge', '--cluster-name', 'edge'];
    const made = await hub.rollcall('token', 'create', '--publish', ...naming, '--wait');
    expect(made.code, made.stderr).toBe(0);
    const secret = ['--namespace', 'rollcall-join', 'get', 'secret', 'edge'];
    const encoded = await hub.kubectl(...secret, '--output', 'jsonpath={.data.values}');
    const values = hub.valuesFile('edge', Buffer.from(encoded, 'base64').toString('utf8'));
    const people = ['--set-json', 'memberAccess={"users":{"admin":true}}'];
    const into = [
      '--namespace',
      'rollcall-agent',
      '--create-namespace',
      '--values',
      values,
      '--wait',
      ...people,
    ];
    const installed = await helm(['install', 'agent', join(charts, 'agent'), ...into], member.kubeconfig);
    expect(installed.code, installed.stderr).toBe(0);
    // The pod is ready once its agent runs; its request is there a moment later.
    await untilOnNodes(
      'its request is there',
      async () => (await hub.rollcall('approve', 'edge')).code === 0,
    );
    await hub.readiness('edge', 'True');
  });

  test('a person of the hub reads logs of the member and runs commands in its pods, by the rights that he has there [CN-8] [X-13]', async () => {
    const inMember = (...args: string[]) =>
      hub.rollcall('kubectl', 'edge', '--', '--namespace', 'rollcall-agent', ...args);
    await untilOnNodes('the API server reaches the gateway', async () => {
      const asked = await inMember('get', 'pods');
      return asked.stderr.includes('User "rollcall:admin" cannot list resource "pods"');
    });
    const role = ['--clusterrole=cluster-admin', '--user=rollcall:admin'];
    await member.kubectl('create', 'clusterrolebinding', 'people', ...role);
    const [agent, node] = ['deployment/rollcall-agent', '/nodejs/bin/node'];
    expect((await inMember('logs', agent)).stdout).toContain('"msg"');
    // Many windows of the tunnel, and a process that ends as soon as it has said them.
    const script = 'process.stdout.write("x".repeat(8e6))';
    const ran = await inMember('exec', agent, '--', node, '--eval', script);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout).toBe('x'.repeat(8e6));
    expect((await inMember('exec', agent, '--', node, '--eval', 'process.exit(7)')).code).toBe(7);
  });

  test('and copies files, forwards ports, talks to a program, also in a terminal, follows its logs and drains its node, by WebSocket and by SPDY', async () => {
    const given = await hub.rollcall('kubeconfig', 'edge');
    const person = personWith(hub.valuesFile('person', given.stdout));
    const serve =
      'echo hello > /tmp/index.html; echo serving; sleep 5; echo still; exec busybox httpd -f -p 8080 -h /tmp';
    await member.kubectl('run', 'shell', '--image=busybox:1.35', '--', 'sh', '-c', serve);
    await member.kubectl('wait', '--for=condition=Ready', 'pod/shell', '--timeout=60s');
    const logs = person.start('logs', '--follow', 'shell');
    await untilSaid(logs, 'still');
    logs.kill();

    const many = randomBytes(3_000_000);
    for (const isSpdy of [false, true]) {
      const said = await person.run(['exec', '--stdin', 'shell', '--', 'cat'], { input: many, isSpdy });
      expect([said.code, said.stdout.equals(many)], said.stderr).toEqual([0, true]);
    }
    expect(await person.inTerminal('exec', '--stdin', '--tty', 'shell', '--', 'tty')).toContain('/dev/pts/');
    const cat = ['--image=busybox:1.35', '--restart=Never', '--stdin', '--attach=false', '--', 'cat'];
    await member.kubectl('run', 'talk', ...cat);
    await member.kubectl('wait', '--for=condition=Ready', 'pod/talk', '--timeout=60s');
    const talk = await person.run(['attach', '--stdin', 'talk'], { input: Buffer.from('hello\n') });
    expect([talk.code, talk.stdout.toString('utf8')], talk.stderr).toEqual([0, 'hello\n']);
    const [up, down] = [hub.valuesFile('up', many.toString('base64')), hub.valuesFile('down', '')];
    for (const pair of [
      [up, 'shell:/tmp/copied'],
      ['shell:/tmp/copied', down],
    ]) {
      const copied = await person.run(['cp', ...pair]);
      expect(copied.code, copied.stderr).toBe(0);
    }
    expect(readFileSync(down, 'utf8')).toBe(many.toString('base64'));
    const pages = await person.withForwarded('pod/shell', 8080, async (here) => {
      const ask = async () => (await fetch(`http://127.0.0.1:${here}/`)).text();
      return Promise.all([ask(), ask(), ask()]);
    });
    expect(pages).toEqual(['hello\n', 'hello\n', 'hello\n']);

    const { stdout } = await person.run(['get', 'pod', 'shell', '--output', 'jsonpath={.spec.nodeName}']);
    const node = stdout.toString('utf8');
    const drained = await person.run([
      'drain',
      node,
      '--pod-selector',
      'run=shell',
      '--force',
      '--grace-period=1',
    ]);
    expect(drained.code, drained.stderr).toBe(0);
    expect((await person.run(['get', 'pod', 'shell'])).stderr).toContain('not found');
    expect((await person.run(['uncordon', node])).code).toBe(0);
  });

  test('who is outside of the clusters is told how the hub is', async () => {
    const status = await hub.rollcall('status');
    expect(status.stdout).toContain('Everything is as it should be.');
    expect(status.code, status.stdout + status.stderr).toBe(0);
  });

  test('a member whose node loses its power is Unreachable, and Ready again when the node is back', async () => {
    await member.crash();
    await hub.readiness('edge', 'Unknown');
    expect(conditionOf(await hub.cluster('local'), 'Ready')?.status).toBe('True');
    await member.start();
    await hub.readiness('edge', 'True');
  });

  test.each([60, -60])(
    'clocks of the hub that are wrong by %i s, and that of a member as much the other way, take no cluster out of Ready',
    async (seconds) => {
      await setClock(member, 'rollcall-agent', -seconds);
      await hub.readiness('edge', 'True');
      expect(
        await hub.readinessDuring('edge', async () => {
          await setClock(hub, hubNamespace, seconds);
          await hub.untilAllRun();
          await hub.readiness('edge', 'True');
          await setClock(hub, hubNamespace, 0);
        }),
      ).toBe('Ready');
      await setClock(member, 'rollcall-agent', 0);
      await hub.readiness('edge', 'True');
    },
  );

  test('an API server of the hub that is away for a minute takes no cluster out of Ready, and no service ends', async () => {
    const restarts = await hub.restarts(hubNamespace);
    expect(
      await hub.readinessDuring('edge', async () => {
        await hub.kill('kube-apiserver');
        // Longer than Kubernetes waits for a node, and than the hub waits for a heartbeat.
        await delay(60_000);
        await hub.startAgain('kube-apiserver');
      }),
    ).toBe('Ready');
    expect(await hub.restarts(hubNamespace)).toBe(restarts);
  });

  test('the limit of each container is at least 1.2 times its working set', async () => {
    const all = [...(await hub.memory(hubNamespace)), ...(await hub.memory('rollcall-agent'))];
    const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
    for (const { pod, workingSetBytes, limitBytes } of all) {
      const limit = mebibytes(limitBytes);
      process.stderr.write(`nodes: ${pod}: ${mebibytes(workingSetBytes)} MiB of ${limit}\n`);
      expect(limitBytes, pod).toBeGreaterThanOrEqual(1.2 * workingSetBytes);
    }
    expect(all.length).toBe(hubServices.length + 2);
  });
});

/**
 * Starts the deployments of a namespace again as if the clock of their node were wrong. A clock cannot be of one node alone where all
 * are one machine, so it is the one that our processes read.
 */
async function setClock(cluster: NodeCluster, namespace: string, seconds: number): Promise<void> {
  const script = `const Real = Date;
globalThis.Date = class extends Real {
  constructor(...of) { of.length === 0 ? super(Date.now()) : super(...of); }
  static now() { return Real.now() + ${seconds} * 1000; }
};`;
  const option = `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(script)}`;
  const inNamespace = ['--namespace', namespace] as const;
  await cluster.kubectl(
    ...inNamespace,
    'set',
    'env',
    'deployment',
    '--all',
    seconds === 0 ? 'NODE_OPTIONS-' : option,
  );
  await cluster.kubectl(...inNamespace, 'rollout', 'status', 'deployment', '--timeout=180s');
}
