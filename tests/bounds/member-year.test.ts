import { randomBytes } from 'node:crypto';
import { foldRecord, keyAggregate, keyRecord } from '@rollcall/shared/events';
import { createNkey, type Nkey, signMessage } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decideRotationEnd } from '../../services/approver/decision/key-rotated.ts';
import { leavingSection } from '../../services/approver/decision/decide-leave.ts';
import { decideRequest } from '../../services/approver/requests/decide-request.ts';
import { admissionStep } from '../../services/registrar/members/follow-decisions.ts';
import { decideRotated, judgeRotation } from '../../services/registrar/members/key-rotation.ts';
import { decidePin } from '../../services/registrar/members/issuer-pin.ts';
import { aMember, clusterId, type Stream } from './year-stream.ts';

const [dayMs, hourMs] = [86_400_000, 3_600_000];
const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
/** `max_msg_size` of stream EVENTS. */
const largestMessage = 262_144;

const otherKeys = () =>
  Array.from({ length: 7 }, (_, at) => ({
    kid: `${at}`,
    kty: 'RSA' as const,
    n: randomBytes(512).toString('base64url'),
    e: 'AQAB',
  }));

/** @returns the key that is in then */
function rotate(stream: Stream, key: Nkey, nowMs: number): Nkey {
  const next = createNkey('user');
  const proof = signMessage({ verb: 'rotate', body: { clusterId, newKey: next.publicKey } }, [key, next]);
  const ask = {
    id: `ask-${nowMs}`,
    agentKey: key.publicKey,
    newKey: next.publicKey,
    signedAtMs: nowMs,
    proof,
  };
  const newKey = keyRecord(foldRecord(keyAggregate(next.publicKey), []));
  const { drafts } = judgeRotation(ask, { record: stream.read(), newKey, nowMs, isFull: false });
  if (drafts.length === 0) return key;
  stream.append(drafts, nowMs);
  const outcome = { kind: 'evaluated', matches: [], failures: [] } as const;
  stream.append(decideRequest({ record: stream.read(), outcome, heartbeat, nowMs }), nowMs);
  stream.append(admissionStep({ record: stream.read(), nowMs }), nowMs);
  stream.append(decideRotated({ record: stream.read(), nowMs }, next.publicKey), nowMs);
  stream.append(decideRotationEnd(stream.read(), nowMs), nowMs);
  expect(stream.read().decision?.approvedKey).toBe(next.publicKey);
  return next;
}

test('a member that rotates and shows another issuer twice an hour for a year: what is stored, and that it can still be put out', () => {
  let nowMs = Date.UTC(2026, 10, 21);
  let key = createNkey('user');
  const stream = aMember(key, nowMs);
  const keys = otherKeys();
  for (const endMs = nowMs + 365 * dayMs; nowMs < endMs; nowMs += hourMs / 2) {
    key = rotate(stream, key, nowMs);
    const shown = { issuer: `https://${nowMs}`, subject: 'system:serviceaccount:a:b', keys };
    const context = { record: stream.read(), nowMs, isFull: false };
    stream.append(decidePin(context, { agentKey: key.publicKey, shown }), nowMs);
  }
  expect(stream.counts.get('rotated')).toBeLessThanOrEqual(24 * 366);
  expect(stream.counts.get('pinned')).toBeLessThanOrEqual(4 * 366);
  expect(stream.largest).toBeLessThan(largestMessage / 4);
  // docs/scale.md says so.
  expect(stream.bytes).toBeLessThan(1024 ** 3);

  const record = stream.read();
  const { identity, decision: previous } = record;
  if (!identity) throw new Error('there is no such cluster');
  const why = { by: { person: 'p' }, reason: 'Leaving', message: 'm' };
  const section = leavingSection({ identity, previous, heartbeat, nowMs }, why, { record, waitMs: 1000 });
  expect(JSON.stringify(section).length).toBeLessThan(largestMessage / 4);
  expect(section.approvedKey).toBeUndefined();
});
