import { randomUUID } from 'node:crypto';
import { clusterRecord } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claim, claimKinds, installClaimKind, removeClaimKind } from '../harness/claim-kinds.ts';
import {
  conditionOf,
  grant,
  startTestEmbeddedHub,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';

/** What people see of a cluster, from its agent to kubectl. The member's API server is the hub's own. */
let hub: TestEmbeddedHub;
const viewer = 'vera';
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  await grant(hub, viewer, ['rollcall-viewer']);
});
afterAll(() => hub[Symbol.asyncDispose]());

const aName = (stem: string) => `${stem}-${randomUUID().slice(0, 8)}`;
const patience = { lookAgainMs: 100 };

function aNode(name: string, labels: Record<string, string>): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { podCIDRs: [`10.0.${name.at(-1)}.0/24`], providerID: `metal://attic/${name}` },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '110' },
      allocatable: { cpu: '3900m', memory: '15Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  } as KubeObject;
}

describe('labels, types and modes', () => {
  test('a cluster carries what it is under our labels and in its spec [CN-2] [CN-5]', async () => {
    const name = aName('edge');
    const { text } = await hub.createToken({ allowLabels: ['team'] });
    await hub.startAgent({ name, token: text, more: { clusterType: 'Edge', labels: { team: 'a' } } });
    const { metadata, spec } = await hub.untilReady(name);
    expect(metadata.labels).toMatchObject({
      'rollcall.dev/cluster-id': name,
      'rollcall.dev/cluster-name': name,
      'rollcall.dev/registered-by': 'agent',
      'rollcall.dev/created-by': 'projector',
      team: 'a',
    });
    expect(spec).toMatchObject({
      clusterId: name,
      clusterType: 'Edge',
      mode: 'Pull',
      namespacePolicy: 'Delete',
    });
    const request = await until('its request is shown', () => hub.request(name));
    expect(request.spec).toMatchObject({
      clusterId: name,
      clusterName: name,
      clusterType: 'Edge',
      mode: 'Pull',
      labels: { team: 'a' },
    });
  });

  test('requests and clusters are selected by our labels, which neither an agent nor a person can forge [CN-2]', async () => {
    const name = aName('selected');
    const forged = { 'rollcall.dev/registered-by': 'hub', 'rollcall.dev/cluster-name': 'other' };
    const { text } = await hub.createToken({ allowLabels: ['*'] });
    await hub.startAgent({ name, token: text, more: { labels: forged } });
    await hub.untilReady(name);
    await grant(hub, 'otto', ['rollcall-admin']);
    const selected = async (kind: string, selector: string) => {
      const { stdout, stderr } = await hub.kubectl(viewer, 'get', kind, '-l', selector, '-o', 'name');
      return stderr.includes('No resources found') ? '' : stdout.trim();
    };
    for (const kind of ['clusterregistrationrequests', 'managedclusters']) {
      const object = { clusterregistrationrequests: 'clsrr', managedclusters: 'mcls' }[kind] ?? '';
      for (const label of ['cluster-id', 'cluster-name'])
        expect(await selected(kind, `rollcall.dev/${label}=${name}`)).toContain(`/${name}`);
      expect(
        await selected(kind, `rollcall.dev/registered-by=agent,rollcall.dev/cluster-name=${name}`),
      ).toContain(`/${name}`);
      expect(await selected(kind, 'rollcall.dev/registered-by=hub')).toBe('');
      expect(await selected(kind, 'rollcall.dev/cluster-name=other')).toBe('');
      for (const [label, value] of Object.entries(forged)) {
        const said = await hub.kubectl('otto', 'label', '--overwrite', object, name, `${label}=${value}`);
        expect(said.code).not.toBe(0);
        expect(said.stderr).toContain('labels under rollcall.dev/ are set by the hub');
      }
    }
    const byFields = async (...fields: string[]) => {
      const selector = ['--field-selector', fields.join(','), '-o', 'name'];
      const { stdout, stderr } = await hub.kubectl(viewer, 'get', 'clsrr', ...selector);
      return stderr.includes('No resources found') ? '' : stdout.trim() || stderr;
    };
    expect(await byFields(`spec.clusterName=${name}`, 'status.result=Approved')).toContain(`/${name}`);
    expect(await byFields(`spec.clusterName=${name}`, 'status.result=Denied')).toBe('');
  });

  test('kubectl shows the columns of a cluster, and the others on demand [CN-5]', async () => {
    const name = aName('columns');
    await hub.startAgent({ name, token: (await hub.createToken()).text });
    await hub.untilReady(name);
    const headings = async (...flags: string[]) => {
      const { stdout } = await hub.kubectl(viewer, 'get', 'mcls', name, ...flags);
      return stdout.split('\n')[0]?.trim().split(/ {2,}/);
    };
    const short = ['NAME', 'ACCEPTED', 'READY', 'KUBERNETES', 'MODE', 'LAST-SEEN', 'AGE'];
    const wide = ['CLUSTER ID', 'TYPE', 'READYZ', 'PLATFORM', 'NODES', 'SAMPLE-NODE', 'SET', 'REASON'];
    expect(await headings()).toEqual(short);
    expect(await headings('-o', 'wide')).toEqual([...short, ...wide]);
  });

  test('labels are given at registration, as far as the token allows; the agent cannot change them later [FL-3]', async () => {
    const name = aName('labelled');
    const token = await hub.createToken({ allowLabels: ['team', 'env'], labels: { tier: 'branch' } });
    const asked = {
      team: 'a',
      env: 'prod',
      owner: 'me',
      'rollcall.dev/cluster-set': 'gold',
      'node.rollcall.dev/pool': 'gpu',
    };
    const first = await hub.startAgent({ name, token: token.text, more: { labels: asked } });
    const given = { team: 'a', env: 'prod', tier: 'branch' };
    const { metadata } = await hub.untilReady(name);
    expect(metadata.labels).toMatchObject(given);
    expect(Object.keys(metadata.labels ?? {})).not.toContain('owner');
    expect(metadata.labels?.['rollcall.dev/cluster-set']).not.toBe('gold');
    expect(metadata.labels?.['node.rollcall.dev/pool']).not.toBe('gpu');
    const { identity } = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
    expect(identity?.request.droppedLabels).toEqual([
      'owner',
      'rollcall.dev/cluster-set',
      'node.rollcall.dev/pool',
    ]);

    await first.agent.stop();
    await hub.untilReady(name, 'False');
    await hub.startAgent({ name, directory: first.directory, more: { labels: { team: 'b', env: 'dev' } } });
    expect((await hub.untilReady(name)).metadata.labels).toMatchObject(given);
  });

  test('how to reach the member is what people say: with TLS, and as they said it whatever the agent tells [OC-5]', async () => {
    const name = aName('reached');
    const first = await hub.startAgent({ name, token: (await hub.createToken()).text });
    await hub.untilReady(name);
    const clientConfigs = [
      { url: 'https://member.example.org:6443', caBundle: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==' },
      { url: 'https://[fd00::1]:6443' },
    ];
    const patch = (configs: object[]) =>
      hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { clientConfigs: configs } });
    await expect(patch([{ url: 'http://member.example.org' }])).rejects.toMatchObject({ status: 422 });
    await expect(patch([{ caBundle: 'x' }])).rejects.toThrow('url');
    await patch(clientConfigs);
    await first.agent.stop();
    await hub.untilReady(name, 'False');
    await hub.startAgent({ name, directory: first.directory, more: { facts: { region: 'elsewhere' } } });
    const { spec, status } = await hub.untilReady(name);
    expect(spec.clientConfigs).toEqual(clientConfigs);
    expect(status?.apiServerURL).toBe(hub.up.plane.access.server);
  });
});

describe('facts', () => {
  test('every fact of the member is in the status, and follows what changes there [CN-6] [CN-7] [FL-9]', async () => {
    const name = aName('facts');
    const { admin, plane } = hub.up;
    const shared = { pool: 'gpu', 'node.rollcall.dev/rack': '7' };
    for (const node of ['node-1', 'node-2', 'node-3', 'node-4'])
      await admin.create(resources.nodes, aNode(node, { ...shared, 'kubernetes.io/hostname': node }));
    await admin.create(resources.nodes, aNode('node-5', { pool: 'gpu' }));
    await hub.startAgent({ name, token: (await hub.createToken()).text, more: { patience } });
    const { status, metadata } = await hub.untilReady(name);
    expect(status).toMatchObject({
      kubernetesVersion: expect.stringMatching(/^v1\./),
      platform: expect.stringContaining('/'),
      apiServerURL: plane.access.server,
      healthz: true,
      livez: true,
      readyz: true,
      nodes: { total: 5, ready: 5, schedulable: 5, sample: 'node-1' },
      capacity: { cpu: '20', memory: '83886080Ki', pods: '550' },
      allocatable: { cpu: '19500m', memory: '78643200Ki', pods: '550' },
      podCIDRs: ['10.0.1.0/24', '10.0.2.0/23', '10.0.4.0/23'],
      serviceCIDRs: [expect.stringMatching(/\/\d+$/)],
      agentVersion: expect.stringMatching(/^\d+\.\d+/),
    });
    expect(metadata.labels).toMatchObject({
      'node.rollcall.dev/pool': 'gpu',
      'node.rollcall.dev/rack': '7',
    });
    expect(metadata.labels).not.toHaveProperty(['node.rollcall.dev/hostname']);
    await admin.delete(resources.nodes, 'node-1');
    const without = await until('the node is gone from the status', async () => {
      const found = await hub.cluster(name);
      return found?.status?.nodes?.total === 4 && found;
    });
    expect(without.status?.nodes?.sample).toBe('node-2');
    await until('a label that fewer share is gone', async () => {
      const { labels = {} } = (await hub.cluster(name))?.metadata ?? {};
      return !('node.rollcall.dev/rack' in labels) && labels['node.rollcall.dev/pool'] === 'gpu';
    });
    for (const node of ['node-2', 'node-3', 'node-4', 'node-5']) await admin.delete(resources.nodes, node);
  });

  test('claims of the member are shown with kubectl; what is over the limit is left out, and a condition says so [OC-7]', async () => {
    const name = aName('claims');
    const { admin } = hub.up;
    const { claims, properties } = claimKinds;
    await hub.startAgent({ name, token: (await hub.createToken()).text, more: { patience } });
    await hub.untilReady(name);
    await installClaimKind(admin, claims);
    await installClaimKind(admin, properties);
    await claim(admin, claims, { name: 'id.k8s.io', value: 'a-claim' });
    await claim(admin, properties, { name: 'id.k8s.io', value: 'a-property' });
    await claim(admin, claims, {
      name: 'hidden',
      value: 'x',
      labels: { 'open-cluster-management.io/spoke-only': '' },
    });
    for (let index = 0; index < 21; index++)
      await claim(admin, claims, { name: `c${String(index).padStart(2, '0')}`, value: String(index) });
    const cluster = await until('one of them is left out', async () => {
      const found = await hub.cluster(name);
      return conditionOf(found, 'ClaimsComplete')?.status === 'False' && found;
    });
    const condition = conditionOf(cluster, 'ClaimsComplete');
    expect(condition).toMatchObject({
      reason: 'ClaimsLeftOut',
      message: expect.stringContaining('left out: 1;'),
    });
    const path = 'jsonpath={.status.clusterClaims[*].name}';
    const { stdout } = await hub.kubectl(viewer, 'get', 'managedclusters.rollcall.dev', name, '-o', path);
    const first20 = Array.from({ length: 20 }, (_, index) => `c${String(index).padStart(2, '0')}`);
    expect(stdout.split(' ')).toEqual([...first20, 'id.k8s.io']);
    expect(cluster.status?.clusterClaims?.at(-1)).toEqual({ name: 'id.k8s.io', value: 'a-property' });
    for (const kind of [claims, properties]) await removeClaimKind(admin, kind);
    const after = await until('they are gone with their kinds', async () => {
      const found = await hub.cluster(name);
      return found?.status?.clusterClaims === undefined && found;
    });
    expect(conditionOf(after, 'ClaimsComplete')).toMatchObject({ status: 'True', reason: 'AllShown' });
  });
});
