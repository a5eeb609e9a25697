import { setTimeout as delay } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { readDeadLetters } from '@rollcall/shared/bus';
import { clusterRecord, draft, publicationIdOf, tokenDeclared, tokenRecord } from '@rollcall/shared/events';
import { isForbidden, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import type { RunningService } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as projector from '../../services/projector/main.ts';
import * as provisioner from '../../services/rbac-provisioner/main.ts';
import { serviceUser, startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { aDeclaration, decideAs, requestAs } from '../harness/events.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** An API server that was just started refuses everybody everything, until it has read its roles (kubernetes/refused-while-starting.ts). */
let hub: TestHub;
let plane: TestControlPlane;
const running: RunningService[] = [];

beforeAll(async () => {
  [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane({ ownPlane: true })]);
  await plane.admin.create(resources.configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'rollcall-hub', namespace: 'rollcall-system' },
    data: { hubId: 'h'.repeat(16), addresses: 'a:1', caBundle: 'PEM', caCertHash: 'sha256:00' },
  } as KubeObject);
  const settings = <Name extends 'projector' | 'rbac-provisioner'>(name: Name) => ({
    ...hub.serviceSettings(name),
    kubeconfig: plane.kubeconfigFor(serviceUser(name)),
  });
  running.push(await provisioner.start(provisioner.configSchema.parse(settings('rbac-provisioner'))));
  running.push(await projector.start(projector.configSchema.parse(settings('projector'))));
});
afterAll(async () => {
  await Promise.allSettled(running.map((service) => service.stop()));
  await hub?.[Symbol.asyncDispose]();
  await plane?.[Symbol.asyncDispose]();
});

const rounds = [1, 2, 3];
const clusters = (round: number) => Array.from({ length: 6 }, (_, index) => `c${round}-${index}`);
const tokens = (round: number) => Array.from({ length: 4 }, (_, index) => `t${round}-${index}`);

/** What waits for the API server: clusters to be let in and shown, and tokens whose Secrets are to be made. */
async function makeWork(round: number): Promise<void> {
  const [registrar, approver] = await Promise.all([hub.openLog('registrar'), hub.openLog('approver')]);
  for (const id of clusters(round)) {
    await requestAs(registrar, id, Date.now());
    await decideAs(approver, id, 'approved');
  }
  for (const name of tokens(round)) {
    const publicationId = publicationIdOf(name);
    const { publicKey: _none, ...section } = aDeclaration({ name, uid: name, publicationId });
    const record = await approver.read({ kind: 'token', id: publicationId });
    await approver.append([draft(tokenDeclared, record, { reason: 'R', message: 'm', section })], {
      correlation: 'test',
    });
  }
}

/**
 * As long as the test may last: what has failed often while the API server was away is delivered again half a minute later, and on
 * a busy machine it may meet one that is still starting.
 */
async function untilHandled(): Promise<void> {
  const jsm = await jetstreamManager(await hub.connectAs('setup'));
  const isBusy = async (consumer: string): Promise<boolean> => {
    const info = await jsm.consumers.info('EVENTS', consumer).catch(() => undefined);
    return info === undefined || info.num_pending + info.num_ack_pending > 0;
  };
  for (const service of ['projector', 'rbac-provisioner', 'rbac-provisioner-departures'])
    while (await isBusy(service)) await delay(100);
}

test('work that meets an API server which has just started is done all the same, and nothing is refused for good', async () => {
  for (const round of rounds) {
    await plane.plane.kill('kube-apiserver');
    await makeWork(round);
    await plane.plane.restart('kube-apiserver');
    await untilHandled();
  }
  expect(await readDeadLetters(await hub.connectAs('inspector'))).toEqual([]);
  const log = await hub.openLog('approver');
  for (const id of rounds.flatMap(clusters)) {
    const { access } = clusterRecord(await log.read({ kind: 'cluster', id }));
    expect(access).toMatchObject({ state: 'provisioned', namespace: id });
    const shown = await plane.admin.get<ManagedCluster>(resources.managedClusters, { name: id });
    expect(shown?.status?.namespace).toBe(id);
  }
  for (const name of rounds.flatMap(tokens)) {
    const { publication } = tokenRecord(await log.read({ kind: 'token', id: publicationIdOf(name) }));
    expect(publication).toMatchObject({ state: 'published' });
  }
  // Nobody was told in between that it cannot be: not even to be corrected later.
  for await (const { type } of log.scan({ filter: '*.*.*' })) expect(type).not.toMatch(/-failed$/);
});

test('a client is never told that it may not what it may, and always what it may not', async () => {
  const client = plane.clientFor(serviceUser('projector'));
  const saw = { refused: 0, done: 0 };
  await plane.plane.kill('kube-apiserver');
  const asked = new AbortController();
  const asking = Array.from({ length: 8 }, async () => {
    while (!asked.signal.aborted)
      await client.listPage(resources.managedClusters, { limit: 1 }).then(
        () => saw.done++,
        (error: unknown) => {
          if (isForbidden(error)) saw.refused++;
        },
      );
  });
  await plane.plane.restart('kube-apiserver');
  await until('it answers', async () => saw.done > 0);
  asked.abort();
  await Promise.all(asking);
  expect(saw.refused).toBe(0);
  await expect(client.list(resources.secrets)).rejects.toSatisfy(isForbidden);
  client.close();
});
