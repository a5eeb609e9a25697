import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  draft,
  nameRecord,
  publicationIdOf,
  tokenPublished,
  type TokenRecord,
} from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { RunningService } from '@rollcall/shared/service';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { bindRole } from '../../../tests/harness/control-plane.ts';
import { type ApproverWorld, decisionPatch, startWorld } from './approver-world.ts';
import { slowForLongNames } from './builders.ts';

const person = 'anna@example.com';
let world: ApproverWorld;
let anna: KubeClient;
let replicas: RunningService[];

beforeAll(async () => {
  world = await startWorld();
  await bindRole(world.plane.admin, person, 'rollcall-approver');
  anna = world.plane.clientFor(person);
  // Two replicas, as in production: whatever both see is decided once.
  replicas = await Promise.all([world.startApprover(), world.startApprover()]);
});
afterAll(async () => {
  anna?.close();
  await world?.[Symbol.asyncDispose]();
});

const decide = (name: string, verdict: 'Approve' | 'Deny', key: string) =>
  anna.mergePatch<KubeObject>(
    resources.clusterRegistrationRequests,
    name,
    decisionPatch(verdict, key, person),
  );

test('a token is declared as it was written, and withdrawn when it is deleted', async () => {
  const { tokenId } = await world.makeToken('t1', {
    ttl: '1h',
    uses: 3,
    clusterName: 'edge-*',
    labels: { env: 'prod' },
  });
  const { declaration } = await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  expect(declaration).toMatchObject({
    namespace: 'rollcall-join',
    name: 't1',
    uses: 3,
    clusterName: 'edge-*',
    labels: { env: 'prod' },
  });
  expect((declaration?.expiresAtMs ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
  await world.plane.admin.delete(resources.clusterRegistrationTokens, 't1', { namespace: 'rollcall-join' });
  await world.tokenIs(tokenId, (record) => record.declaration?.withdrawn === true);
});

test('no policy holds and says who must do what; a policy that comes judges again and approves', async () => {
  const { tokenId } = await world.makeToken('t2');
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  await world.request('alpha', { tokenId });
  const waiting = await world.clusterIs('alpha', ({ decision }) => decision !== undefined);
  expect(waiting.decision).toMatchObject({
    verdict: 'held',
    reason: 'NoRuleMatched',
    message: expect.stringContaining('kubectl patch'),
  });
  await world.makePolicy('valid', [
    {
      name: 'valid-token',
      when: 'token.valid && request.clusterName != "held"',
      effect: 'Approve',
      labels: { tier: 'a' },
    },
  ]);
  const { decision, lastOf } = await world.clusterIs(
    'alpha',
    (record) => record.decision?.verdict === 'approved',
  );
  expect(lastOf.approver).toMatchObject({
    type: 'approved',
    by: { policy: 'valid', generation: 1, rule: 'valid-token' },
    reason: 'PolicyApproved',
    correlation: 'R-alpha',
  });
  expect(decision).toMatchObject({
    namespace: 'alpha',
    labels: { tier: 'a' },
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
  });
});

test('a held request is judged again when the cluster says something else of itself', async () => {
  const when = 'has(claimed.provider) && request.clusterName == "changing"';
  await world.makePolicy('by-provider', [{ name: 'told', when, effect: 'Approve' }]);
  const { key, id } = await world.request('changing');
  await world.clusterIs('changing', ({ decision }) => decision?.verdict === 'held');
  await world.request('changing', { key, id, claimed: { provider: 'gcp' } });
  const { decision } = await world.clusterIs('changing', (record) => record.decision?.verdict === 'approved');
  expect(decision).toMatchObject({ requestId: id, by: { policy: 'by-provider', rule: 'told' } });
  await world.removePolicy('by-provider');
});

test('a policy that does not compile says where, and its last good version stays in force [X-1]', async () => {
  await world.makePolicy('valid', [
    { name: 'valid-token', when: 'token.valid &&\n  claimed.colour == "red"', effect: 'Approve' },
  ]);
  const policy = { kind: 'policy', id: 'valid' } as const;
  await expect
    .poll(async () => (await world.registrar.read(policy)).lastOf.approver?.section, { timeout: 20_000 })
    .toMatchObject({ generation: 1, problem: { generation: 2, rule: 'valid-token', line: 2, column: 11 } });
  const { tokenId } = await world.makeToken('t3');
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  await world.request('beta', { tokenId });
  const { decision } = await world.clusterIs('beta', (record) => record.decision !== undefined);
  expect(decision).toMatchObject({ verdict: 'approved', by: { policy: 'valid', generation: 1 } });
});

test('an expression that does not end holds its request and no other', async () => {
  await world.makePolicy('slow', [{ name: 'slow', when: slowForLongNames, effect: 'Deny' }]);
  await expect
    .poll(async () => (await world.registrar.read({ kind: 'policy', id: 'slow' })).head, { timeout: 20_000 })
    .toBeDefined();
  const { tokenId } = await world.makeToken('t4', { uses: 'unlimited' });
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  const bad = `${'a'.repeat(40)}1`;
  await Promise.all([world.request(bad, { tokenId }), world.request('gamma', { tokenId })]);
  const { decision } = await world.clusterIs(bad, (record) => record.decision !== undefined);
  expect(decision).toMatchObject({ verdict: 'held', reason: 'PolicyTimeout' });
  expect((await world.clusterIs('gamma', (record) => record.decision !== undefined)).decision?.verdict).toBe(
    'approved',
  );
  await world.removePolicy('slow');
  await world.clusterIs(bad, (record) => record.decision?.verdict === 'approved');
});

test('a person approves and denies in their own name; a denial after approval ends in revoked', async () => {
  const { key } = await world.request('held');
  await world.clusterIs('held', ({ decision }) => decision?.verdict === 'held');
  await world.showRequest('held', key);
  await decide('held', 'Approve', key);
  const yes = await world.clusterIs('held', ({ decision }) => decision?.verdict === 'approved');
  expect(yes.lastOf.approver).toMatchObject({ by: { person }, reason: 'PersonApproved' });
  await world.showStatus('held');
  await decide('held', 'Deny', key);
  const no = await world.clusterIs('held', ({ lastOf }) => lastOf.approver?.type === 'revoked');
  expect(no.decision).toMatchObject({ verdict: 'denied', by: { person }, revokedKeys: [{ key }] });
  expect(no.decision?.approvedKey).toBeUndefined();
});

test('another key is held, and replaces the first one when a person says so', async () => {
  const { tokenId } = await world.makeToken('t5', { uses: 'unlimited' });
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  const first = await world.request('delta', { tokenId });
  await world.clusterIs('delta', ({ decision }) => decision?.verdict === 'approved');
  const second = await world.request('delta', { tokenId, id: 'R2', admittedKey: first.key });
  const waiting = await world.clusterIs('delta', ({ decision }) => decision?.requestId === 'R2');
  expect(waiting.decision).toMatchObject({ verdict: 'held', reason: 'KeyChanged', approvedKey: first.key });
  await world.showRequest('delta', second.key);
  await decide('delta', 'Approve', second.key);
  const replaced = await world.clusterIs('delta', ({ lastOf }) => lastOf.approver?.type === 'revoked');
  expect(replaced.decision).toMatchObject({
    verdict: 'approved',
    approvedKey: second.key,
    revokedKeys: [{ key: first.key }],
  });
});

test('deleting a ManagedCluster behind our finalizer makes the cluster leave', async () => {
  const { tokenId } = await world.makeToken('t6');
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  const { key } = await world.request('omega', { tokenId });
  await world.clusterIs('omega', ({ decision }) => decision?.verdict === 'approved');
  await world.showCluster('omega');
  await world.plane.admin.delete(resources.managedClusters, 'omega');
  const gone = await world.clusterIs('omega', ({ lastOf }) => lastOf.approver?.type === 'revoked');
  expect(gone.decision).toMatchObject({ verdict: 'leaving', revokedKeys: [{ key }] });
});

test('hubAcceptsClient false takes access away and true gives it back', async () => {
  const { tokenId } = await world.makeToken('t7');
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  const { key } = await world.request('theta', { tokenId });
  await world.clusterIs('theta', ({ decision }) => decision?.verdict === 'approved');
  await world.showCluster('theta');
  await anna.mergePatch<KubeObject>(resources.managedClusters, 'theta', {
    spec: { hubAcceptsClient: false },
  });
  const out = await world.clusterIs('theta', ({ lastOf }) => lastOf.approver?.type === 'revoked');
  expect(out.decision).toMatchObject({
    verdict: 'denied',
    reason: 'AccessWithdrawn',
    revokedKeys: [{ key }],
  });
  await anna.mergePatch<KubeObject>(resources.managedClusters, 'theta', { spec: { hubAcceptsClient: true } });
  const back = await world.clusterIs('theta', ({ decision }) => decision?.verdict === 'approved');
  expect(back.decision).toMatchObject({ reason: 'AccessRestored', approvedKey: key, revokedKeys: [] });
});

test('the name of a cluster that has left is free again', async () => {
  await world.takeNameAndLeave('omega');
  await expect
    .poll(async () => nameRecord(await world.registrar.read({ kind: 'name', id: 'omega' })), {
      timeout: 20_000,
    })
    .toMatchObject({ holder: undefined, newest: { type: 'released' } });
});

test('a token of a tenant, in a namespace of its own, lets nobody in', async () => {
  const metadata = { name: 'tenant' };
  await world.plane.admin.create(resources.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const { tokenId } = await world.makeToken('theirs', {}, 'tenant');
  const { declaration } = await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  expect(declaration).toMatchObject({ withdrawn: true, problem: { reason: 'InvalidNamespace' } });
});

test('a stolen provisioner makes no key good but the first of a token that the hub was asked to make', async () => {
  const provisioner = await world.hub.openLog('rbac-provisioner');
  const keyOf = () => createNkey('user').publicKey;
  async function say(id: string, publicKey: string): Promise<void> {
    const record = await provisioner.read({ kind: 'token', id });
    const section = { state: 'published' as const, publicKey, secretUid: 's', atMs: Date.now() };
    const event = draft(tokenPublished, record, { reason: 'Published', message: 'm', section });
    await provisioner.append([event], { correlation: 'c' });
  }
  const isDeclared = ({ declaration }: TokenRecord) => declaration !== undefined;
  const tokens = resources.clusterRegistrationTokens;
  const where = { namespace: 'rollcall-join' };
  const { tokenId: own } = await world.makeToken('own', { uses: 1 });
  const before = (await world.tokenIs(own, isDeclared)).declaration;
  const made = await world.plane.admin.create<KubeObject>(tokens, {
    apiVersion,
    kind: tokens.kind,
    metadata: { name: 'asked', ...where },
    spec: { publish: true, uses: 'unlimited' },
  });
  const asked = publicationIdOf(made.metadata.uid ?? '');
  await world.tokenIs(asked, isDeclared);

  // Another key for a token that has one; the key of that one for another token; and its own, twice.
  const [another, first, second] = [keyOf(), keyOf(), keyOf()];
  await say(own, another);
  await say(asked, before?.publicKey ?? '');
  await say(asked, first);
  await world.tokenIs(tokenIdOf(first), isDeclared);
  await say(asked, second);
  const change = { spec: { description: 'changed' } };
  await world.plane.admin.mergePatch(tokens, 'asked', change, where);
  await world.plane.admin.mergePatch(tokens, 'own', change, where);
  const isChanged = ({ declaration }: TokenRecord) => declaration?.description === 'changed';
  await world.tokenIs(tokenIdOf(first), isChanged);
  const { declaration } = await world.tokenIs(own, isChanged);
  expect(declaration).toEqual({ ...before, description: 'changed', declaredAtMs: expect.any(Number) });
  for (const key of [another, second])
    expect((await world.registrar.read({ kind: 'token', id: tokenIdOf(key) })).head).toBeUndefined();
  await world.plane.admin.delete(tokens, 'asked', where);
  await world.tokenIs(tokenIdOf(first), (record) => record.declaration?.withdrawn === true);
});

test('a token that was deleted while no approver ran is withdrawn at the next start', async () => {
  const { tokenId } = await world.makeToken('t8');
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  await Promise.all(replicas.map((replica) => replica.stop()));
  await world.plane.admin.delete(resources.clusterRegistrationTokens, 't8', { namespace: 'rollcall-join' });
  await world.startApprover();
  const { lastOf } = await world.tokenIs(tokenId, (record) => record.declaration?.withdrawn === true);
  expect(lastOf.approver?.reason).toBe('TokenDeleted');
});

test('whoever keeps all batches of the stream open keeps no member in that people put out', async () => {
  const { tokenId } = await world.makeToken('t8');
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  const { key, id } = await world.request('iota', { tokenId });
  await world.clusterIs('iota', ({ decision }) => decision?.verdict === 'approved');
  await world.showCluster('iota');
  const thief = await world.hub.connectAs('heartbeat');
  let count = 0;
  function begin(): void {
    if (thief.isClosed()) return;
    for (let begun = 0; begun < 50; begun++) {
      const all = headers();
      all.set('Nats-Batch-Id', `never-${count++}`);
      all.set('Nats-Batch-Sequence', '1');
      thief.publish(`rollcall.events.cluster.${id}.ready`, '{}', { headers: all });
    }
  }
  begin();
  await thief.flush();
  const again = setInterval(begin, 20);
  try {
    const spec = { hubAcceptsClient: false };
    await anna.mergePatch<KubeObject>(resources.managedClusters, 'iota', { spec });
    const out = await world.clusterIs('iota', ({ lastOf }) => lastOf.approver?.type === 'revoked');
    expect(out.decision).toMatchObject({ reason: 'AccessWithdrawn', revokedKeys: [{ key }] });
  } finally {
    clearInterval(again);
  }
});
