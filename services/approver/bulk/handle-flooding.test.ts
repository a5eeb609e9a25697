import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  approved,
  type Decision,
  type EventDraft,
  foldRecord,
  held,
  type Liveness,
  requested,
} from '@rollcall/shared/events';
import { describe, expect, test } from 'vitest';
import { decideFlooding, handleFlooding } from './handle-flooding.ts';
import { aDecision, anIdentity, aRecord, aRequest, nowMs, stored } from '../tests/builders.ts';

const yearMs = 365 * 86_400_000;
const base = { heartbeat: { intervalSeconds: 15, graceSeconds: 45 }, nowMs };

function aFlooding(decision: Decision, liveness: Partial<Liveness>) {
  const record = aRecord(anIdentity({ state: 'admitted', admittedKey: 'K1' }), {
    definition: approved,
    section: decision,
  });
  const flood = { atMs: nowMs - 500, heartbeats: 9000, seconds: 1 };
  const section = { state: 'ready', key: 'K1', flood, ...liveness } as Liveness;
  return { ...record, liveness: section };
}

test.each([
  { name: 'the key that is in floods', want: 'revoked' },
  { name: 'it does not flood', liveness: { flood: undefined }, want: undefined },
  { name: 'another key flooded', liveness: { key: 'K0' }, want: undefined },
  { name: 'a person let it in again since', decision: { decidedAtMs: nowMs }, want: undefined },
  {
    name: 'it was let in before, by a clock that was a year ahead',
    decision: { decidedAtMs: nowMs + yearMs },
    want: 'revoked',
  },
  {
    name: 'nobody is in, and the key was not taken back',
    decision: { approvedKey: undefined },
    want: 'denied',
  },
])('$name → $want', ({ decision = {}, liveness = {}, want }) => {
  const [draft] = decideFlooding(
    aFlooding(aDecision(decision as Partial<Decision>), liveness as Partial<Liveness>),
    base,
  );
  expect(draft?.definition.type).toBe(want);
});

test('the section says that the key is out', () => {
  const [draft] = decideFlooding(aFlooding(aDecision(), {}), base);
  expect(draft?.section).toMatchObject({ verdict: 'revoked', revokedKeys: [{ key: 'K1', atMs: nowMs }] });
});

const asked = { atMs: nowMs - 500, requests: 9000, seconds: 1 };

test('the key that is in floods with requests: it is out like one that sends heartbeats too often', () => {
  const identity = anIdentity({ state: 'admitted', admittedKey: 'K1', flood: { ...asked, key: 'K1' } });
  const record = aRecord(identity, { definition: approved, section: aDecision() });
  const [draft] = decideFlooding(record, base);
  expect(draft).toMatchObject({
    definition: { type: 'revoked' },
    message: 'its agent floods the hub: 9000 requests in 1.0 s',
    section: { revokedKeys: [{ key: 'K1', atMs: nowMs }] },
  });
});

test('the key that is being replaced floods: both are out', () => {
  const identity = anIdentity({ state: 'admitted', admittedKey: 'K1', flood: { ...asked, key: 'K0' } });
  const record = aRecord(identity, { definition: approved, section: aDecision({ retiringKey: 'K0' }) });
  const [draft] = decideFlooding(record, base);
  expect(draft?.definition.type).toBe('revoked');
  expect(draft?.section).not.toHaveProperty('approvedKey');
  expect(draft?.section).toMatchObject({ revokedKeys: [{ key: 'K1' }, { key: 'K0' }] });
});

test('a stranger that asks by the id of a member floods: it is denied and taken back, and the member stays', () => {
  const request = aRequest({ id: 'R2', key: 'K2' });
  const identity = anIdentity({
    state: 'admitted',
    admittedKey: 'K1',
    request,
    flood: { ...asked, key: 'K2' },
  });
  const decision = aDecision({ verdict: 'held', requestId: 'R2', key: 'K2', approvedKey: 'K1' });
  const [draft] = decideFlooding(aRecord(identity, { definition: held, section: decision }), base);
  expect(draft).toMatchObject({
    definition: { type: 'denied' },
    section: {
      verdict: 'denied',
      approvedKey: 'K1',
      revokedKeys: [{ key: 'K2', atMs: nowMs, byAgent: true }],
    },
  });
});

describe('a key that waits floods', () => {
  const waiting = (decision?: Partial<Decision>, key = 'K1') =>
    aRecord(
      anIdentity({ flood: { ...asked, key } }),
      decision && { definition: held, section: aDecision({ approvedKey: undefined, ...decision }) },
    );

  test.each([
    { name: 'nobody has judged it yet', record: waiting(), want: 'denied' },
    { name: 'it is held', record: waiting({ verdict: 'held' }), want: 'denied' },
    {
      name: 'it was denied before, and keeps asking',
      record: waiting({ verdict: 'denied' }),
      want: 'denied',
    },
    { name: 'it was another key', record: waiting({}, 'K0'), want: undefined },
    { name: 'the cluster is banned', record: waiting({ verdict: 'banned' }), want: undefined },
    { name: 'the cluster leaves', record: waiting({ verdict: 'leaving' }), want: undefined },
    { name: 'it was decided since', record: waiting({ decidedAtMs: nowMs }), want: undefined },
    {
      name: 'it is out already',
      record: waiting({ revokedKeys: [{ key: 'K1', atMs: nowMs - 900 }] }),
      want: undefined,
    },
  ])('$name → $want', ({ record, want }) => {
    expect(decideFlooding(record, base)[0]?.definition.type).toBe(want);
  });

  test('it is denied and taken back in one, so that its credentials let it in no more', () => {
    expect(decideFlooding(waiting(), base)[0]?.section).toMatchObject({
      verdict: 'denied',
      reason: 'Flooding',
      decidedAtMs: nowMs,
      revokedKeys: [{ key: 'K1', atMs: nowMs, byAgent: true }],
    });
  });

  test('one that was in before is taken back like any other', () => {
    const identity = anIdentity({ admittedKey: 'K1', flood: { ...asked, key: 'K1' } });
    const decision = aDecision({ verdict: 'held', approvedKey: undefined });
    const [draft] = decideFlooding(aRecord(identity, { definition: held, section: decision }), base);
    const { revokedKeys } = (draft?.section ?? {}) as Decision;
    expect(revokedKeys).toEqual([{ key: 'K1', atMs: nowMs }]);
  });
});

test('of many that a person confirmed, one that only a newer version can read keeps no other in', async () => {
  const newer = new RollcallError('EVENT_VERSION_UNKNOWN', 'of a newer version');
  const written: EventDraft[] = [];
  const flood = { ...asked, key: 'K1' };
  const identity = anIdentity({ clusterId: 'c-2', state: 'admitted', admittedKey: 'K1', flood });
  const on = { aggregate: { kind: 'cluster', id: 'c-2' }, head: undefined } as const;
  const what = { ...on, reason: 'R', message: 'm' };
  const events = [
    stored({ ...what, definition: requested, section: identity }, 1),
    stored({ ...what, definition: approved, section: aDecision() }, 2),
  ];
  const log = {
    async read(aggregate: AggregateId) {
      if (aggregate.id === 'c-1') throw newer;
      return foldRecord(aggregate, aggregate.kind === 'cluster' ? events : []);
    },
    append: async (drafts: readonly EventDraft[]) => void written.push(...drafts),
  };
  const fleet = { now: () => Promise.reject(new Error('nobody needs the counts')) };
  const parts = { ...base, log, fleet, limit: { perMinute: 10, share: 0 }, nowMs: () => nowMs };
  await expect(handleFlooding(parts as never, ['c-1', 'c-2'], { correlation: 'R1' })).rejects.toThrow(newer);
  expect(written.map(({ definition }) => definition.type)).toEqual(['bulk-counted', 'revoked']);
});
