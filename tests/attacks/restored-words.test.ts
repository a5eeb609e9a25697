import { connectBus, type EventLog, openEventLog } from '@rollcall/shared/bus';
import {
  admissionAggregate,
  admissionOf,
  clusterRecord,
  draft,
  epochAggregate,
  epochRecord,
  identitySchema,
  requested,
} from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { createNkey, keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApproverWorld, startWorld } from '../../services/approver/tests/approver-world.ts';
import { bindRole, serviceUser } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { decideAs } from '../harness/events.ts';
import { beginSecondEpoch } from './second-epoch.ts';

/**
 * A hub that was restored from a backup while its Kubernetes was kept. What people said after the backup stands there still,
 * approvals of clusters that were put out since among it. The real approver, on a real bus and a real API server.
 */
const anna = 'anna@example.com';
/** Newer than anything that the backup has. */
const lost = { epoch: 1, sequence: 500_000 };
let world: ApproverWorld;
let annas: KubeClient;
let projector: KubeClient;
/** In the new epoch, which the services of before do not know. */
let log: EventLog;
let registrarLog: EventLog;
const keys = new Map<string, string>();
const fingerprintOf = (name: string) => keyFingerprint(keys.get(name) ?? '');
const recordOf = async (name: string) => clusterRecord(await log.read({ kind: 'cluster', id: name }));

/** As the projector had shown it when the hub was lost, with an approval of anna's, and her later operation to revoke it. */
async function showWithWords(name: string, accepted: 'PersonApproved' | 'PersonRevoked'): Promise<void> {
  const fingerprint = fingerprintOf(name);
  await world.showRequest(name, keys.get(name) ?? '');
  await world.showCluster(name);
  const labels = { 'rollcall.dev/created-by': 'projector', 'rollcall.dev/cluster-id': name };
  await projector.mergePatch(resources.managedClusters, name, { metadata: { labels } });
  const condition = {
    type: 'Accepted',
    status: accepted === 'PersonApproved' ? 'True' : 'False',
    reason: accepted,
    message: '',
    lastTransitionTime: '2026-11-21T12:00:00Z',
  };
  const subresource = 'status';
  await annas.mergePatch<KubeObject>(resources.clusterRegistrationRequests, name, {
    spec: { decision: { verdict: 'Approve', keyFingerprint: fingerprint, by: anna } },
  });
  await annas.mergePatch<KubeObject>(resources.managedClusters, name, {
    spec: { operation: { id: 'w1', verb: 'Revoke', keyFingerprint: fingerprint, by: anna } },
  });
  const requestStatus = { observed: lost, result: 'Approved' };
  await projector.mergePatch(
    resources.clusterRegistrationRequests,
    name,
    { status: requestStatus },
    { subresource },
  );
  const status = { observed: lost, keyFingerprint: fingerprint, conditions: [condition] };
  await projector.mergePatch(resources.managedClusters, name, { status }, { subresource });
}

async function askAgain(name: string): Promise<void> {
  const record = await recordOf(name);
  const key = keys.get(name) ?? '';
  const section = identitySchema.parse({
    state: 'requested',
    clusterId: name,
    clusterName: name,
    request: {
      id: `R2-${name}`,
      key,
      keyFingerprint: keyFingerprint(key),
      tokenId: 'none',
      tokenName: '',
      claimed: {},
      requestedAtMs: Date.now(),
      memberBeforeRestore: { issuedAtMs: Date.now() - 1000, endsAtMs: Date.now() + 1000 },
    },
  });
  const what = { reason: 'Requested', message: 'm', section };
  await registrarLog.append([draft(requested, record, what)], { correlation: name });
}

/** As the projector does after each event. */
async function showHead(name: string): Promise<void> {
  const { head } = await recordOf(name);
  const status = { observed: { epoch: head?.epoch, sequence: head?.sequence } };
  await projector.mergePatch(
    resources.clusterRegistrationRequests,
    name,
    { status },
    { subresource: 'status' },
  );
}

async function is(name: string, want: object): Promise<void> {
  await expect.poll(async () => (await recordOf(name)).decision, { timeout: 30_000 }).toMatchObject(want);
}

/** As `is`, where something else may be noted before it (what is looked at again, a revocation): a decision waits until that is shown. */
async function becomes(name: string, want: object): Promise<void> {
  const decided = async () => {
    await showHead(name);
    return (await recordOf(name)).decision;
  };
  await expect.poll(decided, { timeout: 30_000 }).toMatchObject(want);
}

/** Everything is looked at again, and looked at it was once something that is asked for afterwards has been done. */
let barriers = 0;
async function lookedAtAgain(): Promise<void> {
  const touched = { metadata: { labels: { touched: `t${barriers}` } } };
  for (const name of ['revoked', 'again', 'unknown', 'waiting']) {
    await annas.mergePatch(resources.managedClusters, name, touched);
    await annas.mergePatch(resources.clusterRegistrationRequests, name, touched);
  }
  const verdict = barriers++ % 2 === 0 ? 'Deny' : 'Approve';
  await annas.mergePatch<KubeObject>(resources.clusterRegistrationRequests, 'barrier', {
    spec: {
      decision: {
        verdict,
        keyFingerprint: fingerprintOf('barrier'),
        by: anna,
        reason: `barrier ${barriers}`,
      },
    },
  });
  await becomes('barrier', { verdict: verdict === 'Deny' ? 'denied' : 'approved' });
}

beforeAll(async () => {
  world = await startWorld();
  await bindRole(world.plane.admin, anna, 'rollcall-admin');
  annas = world.plane.clientFor(anna);
  projector = world.plane.clientFor(serviceUser('projector'));
  for (const name of ['revoked', 'again', 'unknown', 'waiting', 'barrier'])
    keys.set(name, createNkey('user').publicKey);
  // The approver of the first epoch has seen the admission policies in place: what is written from then on counts.
  const first = await world.startApprover();
  await until('the admission policies are in place', async () => {
    const admission = admissionOf(await world.registrar.read(admissionAggregate));
    return admission?.inPlace === true && admission.unproven.length === 0;
  });
  await first.stop();
  const approver = await world.hub.openLog('approver');
  for (const name of ['revoked', 'again', 'waiting', 'barrier'])
    await world.request(name, { key: keys.get(name) ?? '' });
  for (const name of ['revoked', 'again']) await decideAs(approver, name, 'approved');
  await decideAs(approver, 'waiting', 'held');
  await showWithWords('revoked', 'PersonRevoked');
  await showWithWords('again', 'PersonApproved');
  await showWithWords('unknown', 'PersonRevoked');
  await showWithWords('waiting', 'PersonRevoked');
  await world.showRequest('barrier', keys.get('barrier') ?? '');

  await beginSecondEpoch(world.hub, 'approver', Date.now());
  const connect = (user: 'inspector' | 'registrar') =>
    connectBus(world.hub.address, world.hub.credentialsOf(user), user);
  log = await openEventLog(await connect('inspector'), { epoch: 2, source: '/rollcall/test' });
  registrarLog = await openEventLog(await connect('registrar'), { epoch: 2, source: '/rollcall/registrar' });
  await world.startApprover();
});
afterAll(async () => {
  annas?.close();
  projector?.close();
  await world?.[Symbol.asyncDispose]();
});

test('an approval of before lets in nobody who was revoked since', async () => {
  await expect
    .poll(async () => epochRecord(await log.read(epochAggregate)).isReviewed, { timeout: 30_000 })
    .toBe(true);
  await is('revoked', { verdict: 'revoked', reason: 'RestoredFromProjection' });
  await is('waiting', { verdict: 'denied', reason: 'RestoredFromProjection' });
  await askAgain('unknown');
  await is('unknown', { verdict: 'held', reason: 'RegisteredAfterBackup' });
  await lookedAtAgain();
  for (const name of ['revoked', 'waiting', 'unknown'])
    expect((await recordOf(name)).decision?.approvedKey, name).toBeUndefined();
});

test('where access was given again after a revocation, that one takes once more, and the old approval gives nothing', async () => {
  await is('again', { verdict: 'revoked', reason: 'PersonRevoked', operations: ['w1'] });
  await lookedAtAgain();
  expect((await recordOf('again')).decision).toMatchObject({ verdict: 'revoked' });
});

test.each(['revoked', 'again', 'unknown', 'waiting'])(
  'what a person gives in the new epoch is not taken by an operation of before: %s',
  async (name) => {
    await showHead(name);
    const decision = {
      verdict: 'Approve',
      keyFingerprint: fingerprintOf(name),
      by: anna,
      reason: 'in the new epoch',
    };
    await annas.mergePatch<KubeObject>(resources.clusterRegistrationRequests, name, { spec: { decision } });
    await becomes(name, { verdict: 'approved', reason: 'PersonApproved' });
    await lookedAtAgain();
    expect((await recordOf(name)).decision).toMatchObject({ verdict: 'approved' });
  },
);
