import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  admissionAggregate,
  admissionOf,
  type ClusterRecord,
  type BulkChanges,
  bulkAggregate,
} from '@rollcall/shared/events';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { confirmations } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bindRole, serviceUser } from '../../../tests/harness/control-plane.ts';
import { type ApproverWorld, startWorld } from './approver-world.ts';

const person = 'anna@example.com';
const clusters = resources.managedClusters;
let world: ApproverWorld;
let anna: KubeClient;
let tokenId: string;

beforeAll(async () => {
  world = await startWorld();
  await bindRole(world.plane.admin, person, 'rollcall-admin');
  anna = world.plane.clientFor(person);
  // Two replicas: what both see is decided once, and both count together.
  await Promise.all([world.startApprover(), world.startApprover()]);
  ({ tokenId } = await world.makeToken('t1'));
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  await world.makePolicy('valid', [{ name: 'valid-token', when: 'token.valid', effect: 'Approve' }]);
});
afterAll(async () => {
  anna?.close();
  await world?.[Symbol.asyncDispose]();
});

async function aMember(name: string): Promise<string> {
  const { key } = await world.request(name, { tokenId });
  await world.clusterIs(name, ({ decision }) => decision?.verdict === 'approved');
  await world.showCluster(name);
  return keyFingerprint(key);
}

const operate = (name: string, what: object) =>
  anna.mergePatch<KubeObject>(clusters, name, { spec: { operation: { by: person, ...what } } });

/** Shows what has happened up to now, as the projector does. */
async function show(name: string): Promise<void> {
  const { head } = await world.cluster(name);
  const projector = world.plane.clientFor(serviceUser('projector'));
  await projector.mergePatch(clusters, name, { status: { observed: head } }, { subresource: 'status' });
  projector.close();
}

/** Asked again and again: an event of a batch is heard before the stream has it, and nothing may follow it. */
async function untilRevoked(name: string): Promise<ClusterRecord> {
  const type = async () => (await world.cluster(name)).lastOf.approver?.type;
  await expect.poll(type, { timeout: 30_000 }).toBe('revoked');
  return world.cluster(name);
}

const bulkChanges = async (): Promise<BulkChanges | undefined> =>
  (await world.registrar.read(bulkAggregate)).lastOf.approver?.section as BulkChanges | undefined;

test('ban, unban and revoke follow from spec.operation, once per id, by the person', async () => {
  const key = await aMember('alpha');
  await operate('alpha', { id: 'w1', verb: 'Ban', keyFingerprint: key, reason: 'stolen' });
  const banned = await untilRevoked('alpha');
  expect(banned.lastOf.approver).toMatchObject({ by: { person }, reason: 'PersonBanned' });
  expect(banned.decision).toMatchObject({ verdict: 'banned', operations: ['w1'] });
  await show('alpha');
  await operate('alpha', { id: 'w2', verb: 'Unban', keyFingerprint: key, reason: null });
  const free = await world.clusterIs(
    'alpha',
    ({ decision }) => decision?.operations?.includes('w2') === true,
  );
  expect(free.decision).toMatchObject({ verdict: 'revoked', revokedKeys: [{ key: banned.decision?.key }] });
  // The same id again, from a restored object: nothing. What follows shows that both were looked at.
  await show('alpha');
  await operate('alpha', { id: 'w1', verb: 'Ban', keyFingerprint: key });
  const beta = await aMember('beta');
  await operate('beta', { id: 'w1', verb: 'Revoke', keyFingerprint: beta });
  const revoked = await untilRevoked('beta');
  expect(revoked.decision).toMatchObject({ verdict: 'revoked', by: { person } });
  expect((await world.cluster('alpha')).decision?.verdict).toBe('revoked');
});

test('what is asked for while any of the admission policies is weakened does not count until it is asked for again, and the log names it', async () => {
  const key = await aMember('gamma');
  const name = 'rollcall-confirm';
  await world.plane.admin.mergePatch(resources.validatingAdmissionPolicyBindings, name, {
    spec: { validationActions: ['Warn'] },
  });
  await operate('gamma', { id: 'w1', verb: 'Revoke', keyFingerprint: key });
  await expect
    .poll(() => readFileSync(world.hub.serviceSettings('approver')['logFile'] ?? '', 'utf8'), {
      timeout: 30_000,
    })
    .toContain(`${name} does not deny`);
  expect((await world.cluster('gamma')).decision?.verdict).toBe('approved');
  const shipped = join(import.meta.dirname, '..', '..', '..', 'deploy', 'admission', 'confirm.yaml');
  // Applying alone would only add to the list that somebody else has written to.
  await world.plane.admin.delete(resources.validatingAdmissionPolicyBindings, name);
  await applyManifests(world.plane.admin, [readFileSync(shipped, 'utf8')]);
  const unproven = async () => admissionOf(await world.registrar.read(admissionAggregate))?.unproven ?? [];
  const operation = { object: 'managedclusters/gamma', word: expect.stringMatching(/^operation:.*\/w1$/) };
  await expect.poll(unproven, { timeout: 30_000 }).toContainEqual(operation);
  expect((await world.cluster('gamma')).decision?.verdict).toBe('approved');
  await operate('gamma', { id: 'w2', verb: 'Revoke', keyFingerprint: key });
  await untilRevoked('gamma');
  await expect.poll(unproven, { timeout: 30_000 }).toEqual([]);
});

test('of ten deletions at once five are acted on by both replicas together, and the rest after a confirmation', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `mass-${index}`);
  for (const name of names) await aMember(name);
  const before = await bulkChanges();
  const lately = before?.recent.reduce((sum, { count }) => sum + count, 0) ?? 0;
  expect(lately).toBeLessThanOrEqual(5);
  await Promise.all(names.map((name) => anna.delete(clusters, name)));
  const isLeaving = async (name: string) => (await world.cluster(name)).decision?.verdict === 'leaving';
  const leavingNow = async () => (await Promise.all(names.map(isLeaving))).filter(Boolean).length;
  const state = async () => ({
    held: (await bulkChanges())?.held?.operations.length ?? 0,
    leaving: await leavingNow(),
  });
  await expect
    .poll(async () => (await state()).held + (await state()).leaving, { timeout: 30_000 })
    .toBe(names.length);
  const { held, leaving } = await state();
  expect(leaving).toBeLessThanOrEqual(5);
  expect(held).toBeGreaterThanOrEqual(5);
  const { id } = (await bulkChanges())?.held ?? {};
  const { name, namespace } = confirmations;
  const confirm = (data: object) =>
    anna.mergePatch<KubeObject>(resources.configMaps, name, { data: { by: person, ...data } }, { namespace });
  await confirm({ confirm: 'b-0000000000' });
  await confirm({ confirm: id });
  await expect.poll(leavingNow, { timeout: 30_000 }).toBe(names.length);
  const record = await world.registrar.read(bulkAggregate);
  expect(record.newest?.by).toEqual({ service: 'approver' });
  expect((await bulkChanges())?.held).toBeUndefined();
});
