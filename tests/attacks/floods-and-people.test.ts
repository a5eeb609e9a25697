import { type BulkChanges, bulkAggregate, draft, flooding, type Liveness } from '@rollcall/shared/events';
import type { EventLog } from '@rollcall/shared/bus';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApproverWorld, startWorld } from '../../services/approver/tests/approver-world.ts';
import { bindRole } from '../harness/control-plane.ts';

/** Floods that a stolen heartbeat makes up used up what people may put out in a minute, and a person's revocation was held with them. */
const person = 'anna@example.com';
let world: ApproverWorld;
let anna: KubeClient;
let heartbeat: EventLog;
let tokenId: string;
beforeAll(async () => {
  world = await startWorld();
  await bindRole(world.plane.admin, person, 'rollcall-admin');
  anna = world.plane.clientFor(person);
  await world.startApprover();
  heartbeat = await world.hub.openLog('heartbeat');
  ({ tokenId } = await world.makeToken('t1'));
  await world.tokenIs(tokenId, (record) => record.declaration !== undefined);
  await world.makePolicy('valid', [{ name: 'valid-token', when: 'token.valid', effect: 'Approve' }]);
});
afterAll(async () => {
  anna?.close();
  await world?.[Symbol.asyncDispose]();
});

async function sayFlooding(name: string): Promise<void> {
  const record = await world.cluster(name);
  const atMs = Date.now();
  const section: Liveness = {
    state: 'ready',
    key: record.decision?.approvedKey ?? '',
    cause: 'Alive',
    joinedAtMs: atMs,
    sinceMs: atMs,
    lastHeartbeatAtMs: atMs,
    flood: { atMs, heartbeats: 10_000, seconds: 2 },
  };
  const what = { reason: 'Flooding', message: 'm', section };
  await heartbeat.append([draft(flooding, record, what)], { correlation: 'thief' });
}

const bulk = async () =>
  (await world.registrar.read(bulkAggregate)).lastOf.approver?.section as BulkChanges | undefined;

test('one member that a person puts out is out, whatever floods a stolen heartbeat makes up', async () => {
  const names = ['bad', ...Array.from({ length: 8 }, (_, at) => `innocent-${at}`)];
  const keys = new Map<string, string>();
  for (const name of names) {
    const { key } = await world.request(name, { tokenId });
    keys.set(name, key);
    await world.clusterIs(name, ({ decision }) => decision?.verdict === 'approved');
  }
  await world.showCluster('bad');
  for (const name of names.slice(1)) await sayFlooding(name);
  await expect.poll(async () => (await bulk())?.held?.operations.length, { timeout: 30_000 }).toBe(3);
  await anna.mergePatch<KubeObject>(resources.managedClusters, 'bad', {
    spec: {
      operation: {
        by: person,
        id: 'w1',
        verb: 'Revoke',
        keyFingerprint: keyFingerprint(keys.get('bad') ?? ''),
      },
    },
  });
  await expect
    .poll(
      async () => {
        const { decision } = await world.cluster('bad');
        const held = (await bulk())?.held?.operations.map(({ clusterName }) => clusterName) ?? [];
        return decision?.verdict !== 'approved' || held.includes('bad');
      },
      { timeout: 30_000 },
    )
    .toBe(true);
  // A person can confirm this list only as a whole, with those that the thief put into it.
  const held = (await bulk())?.held?.operations.map(({ clusterName }) => clusterName);
  expect.soft(held ?? []).not.toContain('bad');
  expect((await world.cluster('bad')).decision?.verdict).toBe('revoked');
}, 120_000);
