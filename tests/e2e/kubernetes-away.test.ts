import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectBus, openEventLog } from '@rollcall/shared/bus';
import { draft, epochAggregate, epochRecord, restored } from '@rollcall/shared/events';
import type { RunningService } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as approver from '../../services/approver/main.ts';
import * as projector from '../../services/projector/main.ts';
import * as provisioner from '../../services/rbac-provisioner/main.ts';
import { serviceUser, startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** A hub that was just restored, whose API server is not there yet when its services start. */
let hub: TestHub;
let plane: TestControlPlane;
const running: RunningService[] = [];

function enterEpoch(epoch: number): void {
  for (const name of ['approver', 'projector', 'rbac-provisioner']) {
    const path = join(hub.stateDir, 'identities', `${name}.json`);
    const identity = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...identity, epoch }), { mode: 0o600 });
  }
}

async function asRestore() {
  const nc = await connectBus(hub.address, hub.credentialsOf('restore'), 'restore');
  const log = await openEventLog(nc, { epoch: 2, latestEpoch: 2, source: '/rollcall/restore' });
  return { nc, log };
}

const starts = {
  approver: () =>
    approver.start(
      approver.configSchema.parse({
        ...hub.serviceSettings('approver'),
        kubeconfig: plane.kubeconfigFor(serviceUser('approver')),
      }),
    ),
  projector: () =>
    projector.start(
      projector.configSchema.parse({
        ...hub.serviceSettings('projector'),
        kubeconfig: plane.kubeconfigFor(serviceUser('projector')),
      }),
    ),
  'rbac-provisioner': () =>
    provisioner.start(
      provisioner.configSchema.parse({
        ...hub.serviceSettings('rbac-provisioner'),
        kubeconfig: plane.kubeconfigFor(serviceUser('rbac-provisioner')),
      }),
    ),
} as const;
type Name = keyof typeof starts;

beforeAll(async () => {
  [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane({ ownPlane: true })]);
  await plane.plane.kill('kube-apiserver');
  enterEpoch(2);
  const { nc, log } = await asRestore();
  const section = { epoch: 2, throughSequence: 0, backupTakenAtMs: 1 };
  const what = { reason: 'Restored', message: 'restored by a test', section };
  await log.append([draft(restored, epochRecord(await log.read(epochAggregate)), what)], {
    correlation: 'test',
  });
  await nc.close();
});
afterAll(async () => {
  await Promise.allSettled(running.map((service) => service.stop()));
  await hub?.[Symbol.asyncDispose]();
  await plane?.[Symbol.asyncDispose]();
});

test.each(Object.keys(starts) as Name[])('%s starts, says that it is not ready, and stops', async (name) => {
  const service = await starts[name]();
  expect(service.notReady()).toMatch(/API server|decided yet|looked yet/);
  await service.stop();
  expect(service.notReady()).toBe('stopping');
});

test('once the API server is there, all of them work, and what it shows was looked at first', async () => {
  for (const start of Object.values(starts)) running.push(await start());
  const { nc, log } = await asRestore();
  expect(epochRecord(await log.read(epochAggregate)).isReviewed).toBe(false);
  await plane.plane.restart('kube-apiserver');
  for (const service of running)
    await until(`${service.name} is ready`, async () => service.notReady() === undefined);
  expect(epochRecord(await log.read(epochAggregate)).isReviewed).toBe(true);
  await nc.close();
});
