import { connect, type NatsConnection } from '@nats-io/transport-node';
import { connectionOptions, jwtProof } from '@rollcall/shared/bus';
import { admitted, draft, type Identity } from '@rollcall/shared/events';
import { createNkey } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decideFlooding } from '../../services/approver/bulk/handle-flooding.ts';
import {
  admitMember,
  type Member,
  sendHeartbeat,
  startHeartbeat,
  type Surroundings,
  surroundingsOf,
} from '../../services/heartbeat/tests/test-member.ts';
import { decideAs } from '../harness/events.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/**
 * A flood of heartbeats was told of under the key by which the member had joined. That one is out once the member has taken another, and
 * the approver found nothing to take back: who had rotated its key once could flood for as long as it liked.
 */
let hub: TestHub;
let around: Surroundings;
beforeAll(async () => {
  hub = await startTestHub();
  around = await surroundingsOf(hub);
});
afterAll(() => hub?.[Symbol.asyncDispose]());

/** As registrar and approver write it. @returns a connection by the new key */
async function rotate({ clusterId, record }: Member): Promise<NatsConnection> {
  const next = createNkey('user');
  const { identity, decision } = await record();
  const former = decision?.approvedKey ?? '';
  const revokedKeys = [{ key: former, atMs: Date.now(), rotated: true }];
  const key = next.publicKey;
  await decideAs(around.approverLog, clusterId, 'approved', {
    ...decision,
    key,
    approvedKey: key,
    revokedKeys,
  });
  const section = {
    ...identity,
    request: { ...identity?.request, key },
    admittedKey: key,
    rotatedFrom: former,
  } as Identity;
  const what = { reason: 'Admitted', message: 'm', section };
  await around.registrarLog.append([draft(admitted, await record(), what)], { correlation: 'test' });
  const credentials = hub.agentCredentials('member', clusterId, { seed: next.seed });
  return connect({ ...connectionOptions(hub.address, 'agent'), authenticator: jwtProof(credentials) });
}

test('a member that has taken another key is put out when it floods with heartbeats', async () => {
  await startHeartbeat(hub, { floodRate: '5', floodWindow: '1s' });
  const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
  const member = await admitMember(around, 'flooder', heartbeat);
  const before = await member.connect();
  sendHeartbeat(before, member.clusterId);
  await member.event('joined');
  await before.close();
  const nc = await rotate(member);
  const flood = setInterval(() => sendHeartbeat(nc, member.clusterId), 20);
  try {
    await member.event('flooding');
  } finally {
    clearInterval(flood);
    await nc.close();
  }
  const record = await member.record();
  const [decision] = decideFlooding(record, { heartbeat, nowMs: Date.now() });
  expect(decision?.definition.type).toBe('revoked');
  expect(decision?.section).not.toHaveProperty('approvedKey');
});
