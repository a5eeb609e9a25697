import type { Liveness } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { type MemberSections, membershipOf } from './membership.ts';

const identity = { state: 'admitted', admittedKey: 'UA', admittedAtMs: 1000 } as const;
const decision = {
  verdict: 'approved',
  key: 'UA',
  heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
  revokedKeys: [],
} as const;
const liveness: Liveness = {
  state: 'ready',
  key: 'UA',
  cause: 'Alive',
  joinedAtMs: 1500,
  sinceMs: 1500,
  lastHeartbeatAtMs: 1500,
};

function aRecord(overrides: {
  identity?: Partial<NonNullable<MemberSections['identity']>>;
  decision?: Partial<NonNullable<MemberSections['decision']>>;
  liveness?: Liveness;
}): MemberSections {
  return {
    identity: { ...identity, ...overrides.identity },
    decision: { ...decision, revokedKeys: [], ...overrides.decision },
    liveness: overrides.liveness,
  };
}

const other = { key: 'UB' } as const;
test.each([
  { name: 'admitted and approved', record: aRecord({}), mayJoin: true },
  {
    name: 'approved, not yet admitted',
    record: aRecord({ identity: { state: 'requested', admittedKey: undefined } }),
    mayJoin: undefined,
  },
  { name: 'nothing decided', record: { identity }, mayJoin: undefined },
  { name: 'left', record: aRecord({ identity: { state: 'left' } }), mayJoin: undefined },
  { name: 'its key denied', record: aRecord({ decision: { verdict: 'denied' } }), mayJoin: undefined },
  { name: 'leaving', record: aRecord({ decision: { verdict: 'leaving', ...other } }), mayJoin: undefined },
  {
    name: 'its key revoked since',
    record: aRecord({ decision: { revokedKeys: [{ key: 'UA', atMs: 1000 }] } }),
    mayJoin: undefined,
  },
  {
    name: 'its key revoked since, by a clock that is behind',
    record: aRecord({ decision: { revokedKeys: [{ key: 'UA', atMs: 999 }] } }),
    mayJoin: undefined,
  },
  {
    name: 'another key revoked',
    record: aRecord({ decision: { revokedKeys: [{ key: 'UB', atMs: 2000 }] } }),
    mayJoin: true,
  },
  {
    name: 'the request of another key denied',
    record: aRecord({ decision: { verdict: 'denied', ...other } }),
    mayJoin: false,
  },
  {
    name: 'another key held, this one in',
    record: aRecord({ decision: { verdict: 'held', ...other, approvedKey: 'UA' } }),
    mayJoin: true,
  },
])('$name', ({ record, mayJoin }) => {
  expect(membershipOf(record)?.mayJoin).toBe(mayJoin);
});

test.each([
  { name: 'of this admission', was: liveness, want: liveness },
  { name: 'of another key', was: { ...liveness, key: 'UB' }, want: undefined },
  { name: 'from before this admission', was: { ...liveness, joinedAtMs: 999 }, want: undefined },
])('liveness $name', ({ was, want }) => {
  expect(membershipOf(aRecord({ liveness: was }))?.liveness).toEqual(want);
});

test("interval and grace are the decision's", () => {
  expect(membershipOf(aRecord({}))).toMatchObject({ key: 'UA', intervalMs: 15_000, graceMs: 45_000 });
});
