import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { helm } from '../charts/helm.ts';
import { conditionOf } from '../harness/embedded.ts';
import { charts, hubNamespace, type InstalledHub, startInstalledHub } from './installed-hub.ts';
import { type NodeCluster, startNodeCluster } from './node-cluster.ts';

describe.skipIf(inject('nodes').whyNot)('a hub on a node, and a member on another', () => {
  let hub: InstalledHub;
  let member: NodeCluster;
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

  test('a member elsewhere comes by Helm and a published token', async () => {
    const naming = ['--name', 'edge', '--cluster-name', 'edge'];
    const made = await hub.rollcall('token', 'create', '--publish', ...naming, '--wait');
    expect(made.code, made.stderr).toBe(0);
    const secret = ['--namespace', 'rollcall-join', 'get', 'secret', 'edge'];
    const encoded = await hub.kubectl(...secret, '--output', 'jsonpath={.data.values}');
    const values = hub.valuesFile('edge', Buffer.from(encoded, 'base64').toString('utf8'));
    const into = ['--namespace', 'rollcall-agent', '--create-namespace', '--values', values, '--wait'];
    const installed = await helm(['install', 'agent', join(charts, 'agent'), ...into], member.kubeconfig);
    expect(installed.code, installed.stderr).toBe(0);
    const approved = await hub.rollcall('approve', 'edge');
    expect(approved.code, approved.stderr).toBe(0);
    await hub.readiness('edge', 'True');
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
});
