import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rollcallVersion } from '@rollcall/shared/service';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { helm, type HelmResult } from '../charts/helm.ts';
import { charts, hubFlags, hubNamespace, type InstalledHub, startInstalledHub } from './installed-hub.ts';
import { tellPodsWhenFailed } from './node-cluster.ts';
import { baseImages } from './machine/base-images.ts';
import { step } from './machine/run.ts';
import { untilOnNodes } from './until-on-nodes.ts';

const agentNamespace = 'rollcall-agent';
/** Names of the images of before: another name is enough to have every pod made anew. */
const before = { rollcall: 'rollcall:before', agent: 'rollcall-agent:before', nats: 'nats:before' };

describe.skipIf(inject('nodes').whyNot)('a hub and an agent that Helm has installed on a node', () => {
  let hub: InstalledHub;
  let agentValues: string;

  const release = (namespace: string, ...args: string[]) =>
    helm([...args, '--namespace', namespace], hub.kubeconfig);
  const chartOf = (name: 'hub' | 'agent') => join(charts, name);
  async function done(result: Promise<HelmResult>): Promise<void> {
    const { code, stdout, stderr } = await result;
    expect(code, stdout + stderr).toBe(0);
  }
  /** Every image that runs there now. */
  async function images(namespace: string): Promise<string[]> {
    const path = 'jsonpath={range .items[*].spec.containers[*]}{.image}{"\\n"}{end}';
    const listed = await hub.kubectl('--namespace', namespace, 'get', 'pods', '--output', path);
    return [...new Set(listed.trim().split('\n'))].toSorted();
  }
  const wait = ['--wait', '--timeout', '5m'];

  tellPodsWhenFailed(() => hub);
  beforeAll(async () => {
    hub = await startInstalledHub(1, { image: before.rollcall }, { install: installByHelm });
  });
  afterAll(async () => hub?.[Symbol.asyncDispose]());

  async function installByHelm(started: InstalledHub): Promise<void> {
    hub = started;
    await hub.tagImage(`rollcall:${rollcallVersion}`, before.rollcall);
    await hub.tagImage(`rollcall-agent:${rollcallVersion}`, before.agent);
    await hub.tagImage(baseImages.nats, before.nats);
    const onlyKeys = ['--only-keys', '--values', hub.hubValues];
    const made = await hub.rollcall('install', 'hub', ...onlyKeys, ...hubFlags(hub));
    expect(made.code, made.stderr).toBe(0);
    const given = parse(readFileSync(hub.hubValues, 'utf8')) as { nats: object };
    const nats = { ...given.nats, image: before.nats };
    hub.valuesFile('hub', { ...given, ...(parse(made.stdout) as object), nats });
    await done(release(hubNamespace, 'install', 'hub', chartOf('hub'), '--values', hub.hubValues, ...wait));
    const token = await hub.rollcall('token', 'create', '--publish', '--name', 'local', '--wait');
    expect(token.code, token.stderr).toBe(0);
    const secret = ['--namespace', 'rollcall-join', 'get', 'secret', 'local'];
    const encoded = await hub.kubectl(...secret, '--output', 'jsonpath={.data.values}');
    const values = parse(Buffer.from(encoded, 'base64').toString('utf8')) as object;
    agentValues = hub.valuesFile('agent', { ...values, clusterName: 'local', image: before.agent });
    const into = ['--create-namespace', '--values', agentValues, ...wait];
    await done(release(agentNamespace, 'install', 'agent', chartOf('agent'), ...into));
    const id = await hub.kubectl('get', 'namespace', 'kube-system', '--output', 'jsonpath={.metadata.uid}');
    await untilOnNodes('it asks', async () => (await hub.rollcall('approve', id)).code === 0);
    await hub.readiness('local', 'True');
  }

  const upgrade = (namespace: string, name: 'hub' | 'agent', file: string, ...set: string[]) =>
    done(release(namespace, 'upgrade', name, chartOf(name), '--values', file, ...set, ...wait));

  test('an upgrade that makes every pod of the hub anew takes no cluster out of Ready, and a rollback neither', async () => {
    const set = ['--set', `image=rollcall:${rollcallVersion}`, '--set', `nats.image=${baseImages.nats}`];
    const during = (what: string, work: () => Promise<void>) =>
      hub.readinessDuring('local', () => step(what, work));
    expect(await during('helm upgrade hub', () => upgrade(hubNamespace, 'hub', hub.hubValues, ...set))).toBe(
      'Ready',
    );
    await expect.poll(() => images(hubNamespace)).toEqual([baseImages.nats, `rollcall:${rollcallVersion}`]);
    expect(
      await during('helm rollback hub', () => done(release(hubNamespace, 'rollback', 'hub', '1', ...wait))),
    ).toBe('Ready');
    await expect.poll(() => images(hubNamespace)).toEqual([before.nats, before.rollcall]);
    expect(await during('helm upgrade hub', () => upgrade(hubNamespace, 'hub', hub.hubValues, ...set))).toBe(
      'Ready',
    );
  });

  test('an agent that is upgraded, and rolled back, comes back as the same cluster', async () => {
    // It says goodbye, as every agent that is told to end, so the cluster is not Ready for a moment.
    const fingerprint = async () => (await hub.readiness('local', 'True')).status?.keyFingerprint;
    const key = await fingerprint();
    const set = ['--set', `image=rollcall-agent:${rollcallVersion}`];
    await step('helm upgrade agent', () => upgrade(agentNamespace, 'agent', agentValues, ...set));
    await expect.poll(() => images(agentNamespace)).toEqual([`rollcall-agent:${rollcallVersion}`]);
    expect(await fingerprint()).toBe(key);
    await step('helm rollback agent', () => done(release(agentNamespace, 'rollback', 'agent', '1', ...wait)));
    await expect.poll(() => images(agentNamespace)).toEqual([before.agent]);
    expect(await fingerprint()).toBe(key);
  });

  test('`helm test` passes while all is well', async () => {
    const ofHub = await release(hubNamespace, 'test', 'hub', '--logs');
    expect(ofHub.code, ofHub.stdout + ofHub.stderr).toBe(0);
    expect(ofHub.stdout).toContain('Everything is as it should be.');
    const ofAgent = await release(agentNamespace, 'test', 'agent', '--logs');
    expect(ofAgent.code, ofAgent.stdout + ofAgent.stderr).toBe(0);
    expect(ofAgent.stdout).toContain('Registered: True');
  });

  test('and fails, saying why, while NATS is away', async () => {
    const nats = ['--namespace', hubNamespace, 'scale', 'statefulset', 'rollcall-nats'];
    await hub.kubectl(...nats, '--replicas=0');
    const ended = ['wait', '--for=delete', 'pod/rollcall-nats-0', '--timeout=120s'];
    await hub.kubectl('--namespace', hubNamespace, ...ended);
    const told = ['wait', '--for=condition=Connected=False', 'deployment/rollcall-agent', '--timeout=120s'];
    await hub.kubectl('--namespace', agentNamespace, ...told);
    const [ofHub, ofAgent] = await Promise.all([
      release(hubNamespace, 'test', 'hub', '--logs'),
      release(agentNamespace, 'test', 'agent', '--logs'),
    ]);
    expect(ofHub.code).not.toBe(0);
    expect(ofHub.stdout + ofHub.stderr).toContain('rollcall-nats');
    expect(ofAgent.code).not.toBe(0);
    expect(ofAgent.stdout + ofAgent.stderr).toContain('Connected: False');
    await hub.kubectl(...nats, '--replicas=1');
    await hub.untilAllRun();
    await hub.readiness('local', 'True');
  });
});
