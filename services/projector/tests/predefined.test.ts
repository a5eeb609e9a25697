import {
  draft,
  type EventDraft,
  leaving,
  nameReserved,
  predefined,
  tokenDeclared,
} from '@rollcall/shared/events';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken, ManagedCluster } from '@rollcall/shared/resources';
import type { RunningService } from '@rollcall/shared/service';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../../tests/harness/control-plane.ts';
import { aDecision, aDeclaration } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

const apiVersion = 'rollcall.dev/v1alpha1';
const namespace = 'rollcall-join';
let hub: TestHub;
let plane: TestControlPlane;
let admin: KubeClient;
let projector: RunningService;

beforeAll(async () => {
  [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane()]);
  ({ admin } = plane);
  projector = await start(
    configSchema.parse({
      ...hub.serviceSettings('projector'),
      kubeconfig: plane.kubeconfigFor(serviceUser('projector'), ['system:serviceaccounts']),
      expiredTokenKept: '1s',
    }),
  );
});
afterAll(async () => {
  await projector?.stop();
  await Promise.all([hub?.[Symbol.asyncDispose](), plane?.[Symbol.asyncDispose]()]);
});

async function tell(...drafts: EventDraft[]): Promise<void> {
  const log = await hub.openLog('approver');
  await log.append(drafts, { correlation: 'test' });
}
const what = { reason: 'Test', message: 'test' };
const makeCluster = (name: string, spec: object, labels: Record<string, string> = {}) =>
  admin.create(resources.managedClusters, {
    apiVersion,
    kind: 'ManagedCluster',
    metadata: { name, labels },
    spec,
  });
const cluster = (name: string) => admin.get<ManagedCluster>(resources.managedClusters, { name });
const accepted = async (name: string) => {
  const conditions = (await cluster(name))?.status?.conditions ?? [];
  const found = conditions.find(({ type }) => type === 'Accepted');
  return found && `${found.status} ${found.reason}`;
};

/** Declares as the approver what a person made. */
async function predefine(name: string, id: string): Promise<void> {
  const log = await hub.openLog('approver');
  const section = aDecision({
    verdict: 'predefined',
    clusterName: name,
    namespace: name,
    labels: { env: 'prod' },
    reason: 'Predefined',
    predefined: { clusterType: 'Edge', mode: 'Pull' },
  });
  const taken = { name, clusterId: id, free: false };
  await tell(
    draft(predefined, await log.read({ kind: 'cluster', id }), { ...what, section }),
    draft(nameReserved, await log.read({ kind: 'name', id: name }), { ...what, section: taken }),
  );
}

test('the object of a person is adopted as it is, and one that vanished is made again as the record has it', async () => {
  await makeCluster('adopted', { clusterId: 'id-1', clusterType: 'Edge' }, { env: 'prod', own: 'x' });
  await predefine('adopted', 'id-1');
  await expect.poll(() => accepted('adopted'), { timeout: 30_000 }).toBe('Unknown Predefined');
  const before = await cluster('adopted');
  expect(before).toMatchObject({
    metadata: {
      finalizers: ['rollcall.dev/leave'],
      labels: { env: 'prod', own: 'x', 'rollcall.dev/cluster-id': 'id-1' },
    },
    spec: { clusterId: 'id-1', clusterType: 'Edge' },
  });
  expect(before?.metadata.labels).not.toHaveProperty('rollcall.dev/created-by');
  expect(before?.status?.conditions).toHaveLength(8);

  await predefine('vanished', 'id-2');
  await expect.poll(() => accepted('vanished'), { timeout: 30_000 }).toBe('Unknown Predefined');
  expect(await cluster('vanished')).toMatchObject({ spec: { clusterId: 'id-2', clusterType: 'Edge' } });
});

test('an object whose id or name another cluster has says so, and is left alone', async () => {
  await makeCluster('in-vain', { clusterId: 'id-1' });
  await expect.poll(() => accepted('in-vain'), { timeout: 30_000 }).toBe('False IdTaken');
  const taken = { name: 'named', clusterId: 'other', free: false };
  const aggregate = { kind: 'name', id: 'named' } as const;
  await tell(draft(nameReserved, { aggregate, head: undefined }, { ...what, section: taken }));
  await makeCluster('named', { clientId: 'Shop 7' });
  await expect.poll(() => accepted('named'), { timeout: 30_000 }).toBe('False NameTaken');
  expect((await cluster('named'))?.metadata).not.toHaveProperty('finalizers');
});

test('another client id for a cluster that is declared counts for nothing, and says so', async () => {
  await makeCluster('renumbered', { clusterId: 'id-4', clusterType: 'Edge' }, { env: 'prod' });
  await predefine('renumbered', 'id-4');
  await expect.poll(() => accepted('renumbered'), { timeout: 30_000 }).toBe('Unknown Predefined');
  const setClientId = (clientId: string | null) =>
    admin.mergePatch(resources.managedClusters, 'renumbered', { spec: { clientId } });
  await setClientId('Shop 8');
  await expect.poll(() => accepted('renumbered'), { timeout: 30_000 }).toBe('False IdMismatch');
  await setClientId(null);
  await expect.poll(() => accepted('renumbered'), { timeout: 30_000 }).toBe('Unknown Predefined');
});

test('never claimed and deleted, it goes; what a person makes anew under its name stays', async () => {
  await predefine('short', 'id-3');
  await expect.poll(() => accepted('short'), { timeout: 30_000 }).toBe('Unknown Predefined');
  await admin.delete(resources.managedClusters, 'short');
  const log = await hub.openLog('approver');
  const section = aDecision({ verdict: 'leaving', clusterName: 'short' });
  await tell(draft(leaving, await log.read({ kind: 'cluster', id: 'id-3' }), { ...what, section }));
  await expect.poll(() => cluster('short'), { timeout: 30_000 }).toBeUndefined();
  const anew = await makeCluster('short', { clusterId: 'id-3' });
  await predefine('short', 'id-3');
  await expect.poll(() => accepted('short'), { timeout: 30_000 }).toBe('Unknown Predefined');
  expect((await cluster('short'))?.metadata.uid).toBe(anew.metadata.uid);
});

const token = (name: string) =>
  admin.get<ClusterRegistrationToken>(resources.clusterRegistrationTokens, { name, namespace });

test('an expired token says so and goes; the admission policies let nothing else of people be removed [FL-8]', async () => {
  const client = plane.clientFor(serviceUser('projector'), ['system:serviceaccounts']);
  for (const [name, expiresAtMs] of [
    ['good', Date.now() + 3_600_000],
    ['expiring', Date.now() + 1000],
  ] as const) {
    const { publicKey } = createNkey('user');
    const object = {
      apiVersion,
      kind: 'ClusterRegistrationToken',
      metadata: { name, namespace },
      spec: { publicKey },
    };
    const { metadata } = await admin.create(resources.clusterRegistrationTokens, object);
    const aggregate = { kind: 'token', id: tokenIdOf(publicKey) } as const;
    const section = aDeclaration({ publicKey, name, namespace, uid: metadata.uid, expiresAtMs });
    await tell(draft(tokenDeclared, { aggregate, head: undefined }, { ...what, section }));
  }
  await expect
    .poll(async () => (await token('good'))?.status?.conditions?.[0]?.reason, { timeout: 30_000 })
    .toBe('Usable');
  const removing = client.delete(resources.clusterRegistrationTokens, 'good', { namespace });
  await expect(removing).rejects.toMatchObject({ status: 403 });
  await expect.poll(() => token('expiring'), { timeout: 30_000 }).toBeUndefined();
  expect(await token('good')).toBeDefined();
  client.close();
});
