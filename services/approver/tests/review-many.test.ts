import { connectBus, type EventLog, openEventLog, readEpoch } from '@rollcall/shared/bus';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginSecondEpoch } from '../../../tests/attacks/second-epoch.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { reviewRestored } from '../restore/review-restored.ts';

/** More of before a restore than one event can list (ADR 15). What Kubernetes shows is made up: as many objects take it minutes. */
const decisions = 4000;
const operations = 1700;
const ids = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}-${at}`);
const requests = ids(decisions, 'r').map((name) => ({
  metadata: { name, uid: name.padEnd(36, '-') },
  spec: { clusterId: name, decision: { verdict: 'Approve', keyFingerprint: 'SHA256:k', by: 'anna' } },
}));
const clusters = ids(operations, 'c').map((name) => ({
  metadata: { name, uid: name.padEnd(36, '-') },
  spec: { clusterId: name, operation: { id: name.padEnd(128, 'w'), verb: 'Unban', by: 'anna' } },
}));
const client = {
  list: ({ plural }: { plural: string }) =>
    Promise.resolve(plural === 'managedclusters' ? clusters : requests),
} as unknown as Pick<KubeClient, 'list'>;

let hub: TestHub;
let log: EventLog;
beforeAll(async () => {
  hub = await startTestHub();
  await beginSecondEpoch(hub, 'approver', Date.now());
  const nc = await connectBus(hub.address, hub.credentialsOf('approver'), 'approver');
  log = await openEventLog(nc, { epoch: 2, source: '/rollcall/approver' });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const review = () =>
  reviewRestored({
    log,
    client,
    logger: pino({ level: 'silent' }),
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    nowMs: Date.now,
  });

test('all that people said before a restore is noted, however much it is, and read again at each start', async () => {
  // Two replicas begin at the same time.
  const [one, other] = await Promise.all([review(), review()]);
  const { isReviewed, spent, spentParts } = await readEpoch(log);
  expect({ isReviewed, inOne: spent.length, spentParts }).toEqual({
    isReviewed: true,
    inOne: 1000,
    spentParts: 5,
  });
  const again = await review();
  for (const { spent: words } of [one, other, again]) {
    expect(new Set(words).size).toBe(decisions + operations);
    expect(words.filter((word) => word.startsWith('c-'))).toHaveLength(operations);
  }
});
