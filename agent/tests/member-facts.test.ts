import { factsSchema } from '@rollcall/shared/bus';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { agentAccount, agentManifest } from '../../tests/harness/agent-manifest.ts';
import { claim, claimKinds, installClaimKind, removeClaimKind } from '../../tests/harness/claim-kinds.ts';
import { startTestControlPlane, type TestControlPlane } from '../../tests/harness/control-plane.ts';
import { until } from '../../tests/harness/embedded.ts';
import { openMemberApi } from '../facts/member-api.ts';
import { type FactSettings, followMember, type MemberFacts } from '../facts/member-facts.ts';

let member: TestControlPlane;
const ends: (() => void)[] = [];
beforeAll(async () => {
  member = await startTestControlPlane({ withManifests: false });
  await applyManifests(member.admin, [agentManifest()]);
  const shown = {
    group: 'networking.k8s.io',
    version: 'v1',
    plural: 'servicecidrs',
    kind: 'ServiceCIDR',
    namespaced: false,
  };
  await until(
    'the API server shows its service range',
    async () => (await member.admin.list(shown)).length > 0,
  );
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
afterAll(() => member[Symbol.asyncDispose]());

/** Follows the member with the rights of the manifests and no others. */
function follow(
  settings: FactSettings = {},
  as: { user: string; groups: readonly string[] } = agentAccount,
): MemberFacts {
  const ending = new AbortController();
  const api = openMemberApi(member.plane.userAccess(as.user, as.groups), '0.1.0');
  ends.push(() => {
    ending.abort();
    api.close();
  });
  return followMember(api, { agentVersion: '0.1.0', settings, lookAgainMs: 100, signal: ending.signal });
}

function aNode(name: string, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { podCIDRs: [`10.0.${name.length}.0/24`], providerID: `kind://test/${name}` },
    status: {
      capacity: { cpu: '4', memory: '16Gi' },
      allocatable: { cpu: '3900m', memory: '15Gi' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  } as KubeObject;
}

test('every fact of a member is read with the rights of the manifests [CN-6] [FL-9]', async () => {
  await member.admin.create(resources.nodes, aNode('a', { 'topology.kubernetes.io/region': 'eu-1' }));
  const facts = await follow().read();
  expect(factsSchema.parse(facts)).toEqual({
    kubernetesVersion: expect.stringMatching(/^v1\.\d+/),
    platform: expect.stringContaining('/'),
    apiServerURL: member.plane.access.server,
    apiServerCA: member.plane.access.caPem,
    healthz: true,
    livez: true,
    readyz: true,
    nodes: { total: 1, ready: 1, schedulable: 1, sample: 'a' },
    capacity: { cpu: '4', memory: '16777216Ki' },
    allocatable: { cpu: '3900m', memory: '15728640Ki' },
    podCIDRs: ['10.0.1.0/24'],
    serviceCIDRs: [expect.stringMatching(/\/\d+$/)],
    provider: 'kind',
    region: 'eu-1',
    nodeLabels: { region: 'eu-1' },
    agentVersion: '0.1.0',
  });
  await member.admin.delete(resources.nodes, 'a');
});

test('what a person says of the member counts more than what is found there', async () => {
  const said = {
    provider: 'metal',
    region: 'attic',
    podCIDRs: ['10.1.0.0/16'],
    serviceCIDRs: ['10.2.0.0/16'],
  };
  expect(await follow(said).read()).toMatchObject(said);
});

test('nodes that come, change and go are noticed by the watch [CN-6] [CN-7] [FL-9]', async () => {
  const facts = follow();
  expect((await facts.read()).nodes).toEqual({ total: 0, ready: 0, schedulable: 0 });
  let changes = 0;
  facts.onChange(() => changes++);
  for (const name of ['aa', 'bbb']) await member.admin.create(resources.nodes, aNode(name, { pool: 'gpu' }));
  await until('both are counted', async () => facts.latest().nodes?.total === 2);
  expect(facts.latest()).toMatchObject({ nodes: { ready: 2, sample: 'aa' }, nodeLabels: { pool: 'gpu' } });
  await member.admin.mergePatch(resources.nodes, 'aa', {
    spec: { unschedulable: true },
    metadata: { labels: { pool: 'cpu' } },
  });
  await until('it is cordoned', async () => facts.latest().nodes?.schedulable === 1);
  expect(facts.latest().nodeLabels).toBeUndefined();
  await member.admin.delete(resources.nodes, 'aa');
  await until('it is gone', async () => facts.latest().nodes?.total === 1);
  expect(facts.latest()).toMatchObject({ nodes: { sample: 'bbb' }, nodeLabels: { pool: 'gpu' } });
  expect(changes).toBeGreaterThanOrEqual(4);
  await member.admin.delete(resources.nodes, 'bbb');
});

test('a member that shows the agent nothing is one with few facts', async () => {
  const facts = await follow({}, { user: 'nobody', groups: [] }).read();
  expect(facts).toEqual({
    kubernetesVersion: expect.stringMatching(/^v1\.\d+/),
    platform: expect.stringContaining('/'),
    healthz: true,
    livez: true,
    readyz: true,
    apiServerURL: member.plane.access.server,
    apiServerCA: member.plane.access.caPem,
    agentVersion: '0.1.0',
  });
});

test('claims and properties are told as they come and go, whenever their kinds are installed [OC-7]', async () => {
  const facts = follow();
  const { admin } = member;
  const { claims, properties } = claimKinds;
  expect((await facts.read()).claims).toBeUndefined();
  const untilClaims = (what: string, want: Record<string, string> | undefined) =>
    until(what, async () => {
      const told = facts.latest().claims;
      const said = told && Object.fromEntries(told.map(({ name, value }) => [name, value]));
      return JSON.stringify(said) === JSON.stringify(want);
    });

  await installClaimKind(admin, claims);
  await claim(admin, claims, { name: 'id.k8s.io', value: 'from-a-claim' });
  await claim(admin, claims, {
    name: 'local',
    value: 'x',
    labels: { 'open-cluster-management.io/spoke-only': '' },
  });
  await untilClaims('a claim is told, its kind came later', { 'id.k8s.io': 'from-a-claim' });

  await installClaimKind(admin, properties);
  await claim(admin, properties, { name: 'id.k8s.io', value: 'from-a-property' });
  await untilClaims('the property wins', { 'id.k8s.io': 'from-a-property' });

  await claim(admin, properties, { name: 'too-long', value: 'x'.repeat(1025) });
  await until('what is too long is left out', async () => facts.latest().claimsLeftOut === 1);
  await admin.delete(properties, 'too-long');
  await until('nothing is left out', async () => facts.latest().claimsLeftOut === undefined);

  await removeClaimKind(admin, properties);
  await untilClaims('the claim counts again, where the kind of the property is gone', {
    'id.k8s.io': 'from-a-claim',
  });
  await removeClaimKind(admin, claims);
  await untilClaims('no claims where there are no such kinds', undefined);

  await installClaimKind(admin, claims);
  await claim(admin, claims, { name: 'again', value: 'there' });
  await untilClaims('a kind that comes back is seen again', { again: 'there' });
  await removeClaimKind(admin, claims);
});

test('a first look at a member that is away does not wait for it', async () => {
  const ending = new AbortController();
  ends.push(() => ending.abort());
  const api = openMemberApi({ ...member.plane.access, server: 'https://127.0.0.1:1' }, '0.1.0');
  const options = { agentVersion: '0.1.0', settings: {}, lookAgainMs: 60_000, signal: ending.signal };
  expect(await followMember(api, options).read()).toMatchObject({ agentVersion: '0.1.0' });
  api.close();
});
