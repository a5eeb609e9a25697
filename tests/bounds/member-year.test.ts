import { randomBytes } from 'node:crypto';
import {
  admitted,
  type AggregateRecord,
  approved,
  clusterRecord,
  decodeEvent,
  draft,
  encodeEvent,
  type EventDraft,
  foldRecord,
  keyAggregate,
  keyRecord,
  requested,
  type StoredEvent,
} from '@rollcall/shared/events';
import { createNkey, type Nkey, signMessage } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decideRotationEnd } from '../../services/approver/decision/key-rotated.ts';
import { leavingSection } from '../../services/approver/decision/leaving.ts';
import { decideRequest } from '../../services/approver/requests/policy-verdict.ts';
import { admissionStep } from '../../services/registrar/members/admission.ts';
import { decideRotated, judgeRotation } from '../../services/registrar/members/key-rotation.ts';
import { decidePin } from '../../services/registrar/members/member-pin.ts';
import { aDecision, anIdentity } from '../harness/events.ts';

const [dayMs, hourMs] = [86_400_000, 3_600_000];
const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
const clusterId = 'id-1';
/** `max_msg_size` of stream EVENTS. */
const largestMessage = 262_144;

/** The stream of one cluster, of which only the newest of each type is kept. */
class Stream {
  readonly #newest = new Map<string, StoredEvent>();
  #sequence = 0;
  bytes = 0;
  largest = 0;
  readonly counts = new Map<string, number>();

  read(): ReturnType<typeof clusterRecord> {
    return clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, this.#newest.values()));
  }

  append(drafts: readonly EventDraft[], nowMs: number): void {
    for (const one of drafts) {
      const { type } = one.definition;
      const stamp = { epoch: 1, source: '/rollcall/test', nowMs, correlation: 'ask-00000001' };
      const { subject, headers, body } = encodeEvent(one, stamp);
      const size = body.length + JSON.stringify(headers).length + subject.length;
      this.bytes += size;
      this.largest = Math.max(this.largest, size);
      this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
      if (one.aggregate.kind !== 'cluster') continue;
      const message = { subject, sequence: ++this.#sequence, data: body };
      this.#newest.set(type, decodeEvent({ ...message, header: (name) => headers[name] ?? '' }));
    }
  }
}

const otherKeys = () =>
  Array.from({ length: 7 }, (_, at) => ({
    kid: `${at}`,
    kty: 'RSA' as const,
    n: randomBytes(512).toString('base64url'),
    e: 'AQAB',
  }));

function aMember(key: Nkey, nowMs: number): Stream {
  const stream = new Stream();
  const { publicKey } = key;
  const words = { reason: 'Test', message: 'a test' };
  const request = { ...anIdentity().request, key: publicKey };
  const empty = (): AggregateRecord => stream.read();
  stream.append(
    [draft(requested, empty(), { ...words, section: anIdentity({ clusterId, request }) })],
    nowMs,
  );
  const section = aDecision({
    verdict: 'approved',
    key: publicKey,
    approvedKey: publicKey,
    requestId: request.id,
  });
  stream.append([draft(approved, empty(), { ...words, section })], nowMs);
  stream.append(admissionStep({ record: stream.read(), nowMs }), nowMs);
  expect(stream.counts.get(admitted.type)).toBe(1);
  return stream;
}

/** @returns the key that is in then */
function rotate(stream: Stream, key: Nkey, nowMs: number): Nkey {
  const next = createNkey('user');
  const proof = signMessage({ verb: 'rotate', body: { clusterId, newKey: next.publicKey } }, [key, next]);
  const ask = {
    id: `ask-${nowMs}`,
    agentKey: key.publicKey,
    newKey: next.publicKey,
    askedAtMs: nowMs,
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
