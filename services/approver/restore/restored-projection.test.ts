import { approved, banned, type Decision, denied, held, revoked } from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';
import { describe, expect, test } from 'vitest';
import type { ClusterObject } from '../people/cluster-change.ts';
import { readPersonDecision } from '../people/person-decision.ts';
import { reviewProjection, spentWords } from './restored-projection.ts';
import {
  aDecision,
  anIdentity,
  aRecord,
  aRequest,
  clusterId,
  heartbeat,
  History,
  nowMs,
} from '../tests/builders.ts';

/** Newer than what the backup has, and as old. */
const lost = { epoch: 1, sequence: 500 };
const known = { epoch: 1, sequence: 2 };

interface ShownCluster {
  readonly observed?: { epoch: number; sequence: number };
  readonly accepted?: string;
  readonly key?: string;
  readonly operation?: object;
}
function aCluster({ observed = lost, accepted, key = 'K1', operation }: ShownCluster = {}): ClusterObject {
  const status = accepted === undefined ? 'True' : 'False';
  return {
    metadata: { name: 'alpha', uid: 'u1', resourceVersion: '1' },
    spec: { clusterId, ...(operation ? { operation } : {}) },
    status: {
      observed,
      keyFingerprint: keyFingerprint(key),
      conditions: [{ type: 'Accepted', status, reason: accepted ?? 'PolicyApproved' }],
    },
  } as unknown as ClusterObject;
}
function aRequestObject(shown: { result?: string; decision?: object; observed?: object } = {}) {
  return {
    metadata: { name: clusterId, uid: 'u2', resourceVersion: '1' },
    spec: {
      clusterId,
      keyFingerprint: keyFingerprint('K1'),
      ...(shown.decision
        ? { decision: { keyFingerprint: keyFingerprint('K1'), by: 'anna', ...shown.decision } }
        : {}),
    },
    status: { observed: shown.observed ?? known, ...(shown.result ? { result: shown.result } : {}) },
  } as unknown as StoredObject<ClusterRegistrationRequest>;
}

const member = aRecord(anIdentity({ state: 'admitted', admittedKey: 'K1' }), {
  definition: approved,
  section: aDecision(),
});
const waiting = aRecord(anIdentity(), {
  definition: held,
  section: aDecision({ verdict: 'held', reason: 'NoRuleMatched' }),
});
const out = aRecord(anIdentity({ state: 'admitted', admittedKey: 'K1' }), {
  definition: banned,
  section: aDecision({ verdict: 'banned', revokedKeys: [{ key: 'K1', atMs: 1 }] }),
});
const nothing = new History().record;
const review = (
  record: typeof member,
  cluster?: ClusterObject,
  request?: ReturnType<typeof aRequestObject>,
) => reviewProjection({ record, cluster, request, heartbeat, nowMs });

test.each([
  { name: 'a ban after the backup', cluster: aCluster({ accepted: 'PersonBanned' }), want: banned },
  {
    name: 'a ban after the backup, known by its operation',
    cluster: aCluster({ accepted: 'Flooding', operation: { id: 'w', verb: 'Ban', by: 'anna' } }),
    want: banned,
  },
  { name: 'a revocation after the backup', cluster: aCluster({ accepted: 'PersonRevoked' }), want: revoked },
  { name: 'a denial after the backup', cluster: aCluster({ accepted: 'PersonDenied' }), want: revoked },
  { name: 'another key that was let in after the backup', cluster: aCluster({ key: 'K2' }), want: revoked },
])('$name is taken over, and the key is out', ({ cluster, want }) => {
  const found = review(member, cluster);
  expect(found).toMatchObject({ kind: 'taken back', draft: { definition: want } });
  const section = found?.draft.section as Decision;
  expect(section.approvedKey).toBeUndefined();
  expect(section.revokedKeys).toEqual([{ key: 'K1', atMs: nowMs }]);
});

test('a ban about a cluster that the backup does not know is kept', () => {
  expect(review(nothing, aCluster({ accepted: 'PersonBanned' }))?.draft.definition).toBe(banned);
  expect(review(nothing, aCluster())).toBeUndefined();
});

test('a ban that was taken over is still shown as one, for who takes it back and for the next restore', () => {
  for (const record of [member, nothing]) {
    const accepted = review(record, aCluster({ accepted: 'PersonBanned' }))?.draft.reason;
    const later = { id: 'w2', verb: 'Revoke', by: 'anna' };
    const again = review(record, aCluster({ ...(accepted ? { accepted } : {}), operation: later }));
    expect(again).toMatchObject({ draft: { definition: banned, reason: 'PersonBanned' } });
  }
});

test('a denial of a request after the backup is taken over; one that the backup knows of is nothing new', () => {
  const found = review(waiting, undefined, aRequestObject({ result: 'Denied', observed: lost }));
  expect(found).toMatchObject({ kind: 'taken back', draft: { definition: denied } });
  expect(review(waiting, undefined, aRequestObject({ result: 'Denied' }))).toBeUndefined();
});

test.each([
  {
    name: 'a projection that is no newer than the backup',
    cluster: aCluster({ observed: known, accepted: 'PersonBanned' }),
  },
  { name: 'a projection of an earlier epoch', cluster: aCluster({ observed: { epoch: 0, sequence: 900 } }) },
])('$name takes nothing', ({ cluster }) => {
  expect(review(member, cluster)).toBeUndefined();
});

test('a projection gives nothing: who is shown as let in stays out', () => {
  expect(review(out, aCluster())).toMatchObject({
    kind: 'noted',
    draft: { section: { verdict: 'banned' } },
  });
  expect(review(waiting, aCluster())).toMatchObject({
    kind: 'noted',
    draft: { section: { verdict: 'held' } },
  });
});

test.each([
  { name: 'waits', record: waiting, want: 'held' },
  { name: 'nobody has judged', record: aRecord(anIdentity()), want: 'held' },
  { name: 'is banned', record: out, want: 'changed' },
])(
  'an approval that stands there from before, of a request that $name, is noted and not acted on',
  ({ record, want }) => {
    const object = aRequestObject({ decision: { verdict: 'Approve' } });
    const found = review(record, undefined, object);
    expect(found).toMatchObject({
      kind: 'held',
      draft: { definition: { type: want }, reason: 'RestoredDecision' },
    });
    const section = found?.draft.section as Decision;
    expect(section.approvedKey).toBeUndefined();
    // Seen again, it is one that was acted on.
    const after = aRecord(anIdentity(), { definition: held, section });
    expect(review(after, undefined, object)).toBeUndefined();
  },
);

test('an approval that was acted on before the backup is no reason for anything', () => {
  const object = aRequestObject({ decision: { verdict: 'Approve' } });
  expect(review(member, undefined, object)).toBeUndefined();
});

test.each(['Unban', 'ReplaceKey'])('an operation to %s that stands there from before is noted', (verb) => {
  const operation = { id: 'w1', verb, by: 'anna', keyFingerprint: keyFingerprint('K1') };
  const cluster = aCluster({ observed: known, accepted: 'PersonBanned', operation });
  const found = review(out, cluster);
  expect(found).toMatchObject({
    kind: 'held',
    draft: { section: { verdict: 'banned', operations: ['w1'] } },
  });
  const section = found?.draft.section as Decision;
  const after = aRecord(anIdentity({ request: aRequest() }), { definition: banned, section });
  expect(review(after, cluster)).toBeUndefined();
});

test.each([
  { name: 'shown as out', cluster: aCluster({ accepted: 'PersonRevoked' }) },
  { name: 'that another one replaced', cluster: aCluster({ key: 'K2' }) },
])('a key that still waits in the backup, and is $name, is denied: no policy lets it in', ({ cluster }) => {
  for (const record of [waiting, aRecord(anIdentity())]) {
    const found = review(record, cluster);
    expect(found).toMatchObject({ kind: 'taken back', draft: { definition: denied } });
    const section = found?.draft.section as Decision;
    expect(section.approvedKey).toBeUndefined();
  }
});

test('a ban of a cluster that a person laid down beforehand, and that came after the backup, is kept', () => {
  const section = aDecision({ verdict: 'predefined', predefined: { clusterType: 'Standard', mode: 'Pull' } });
  const { record } = new History();
  const beforehand = { ...record, decision: section };
  expect(review(beforehand, aCluster({ accepted: 'PersonBanned' }))).toMatchObject({
    kind: 'taken back',
    draft: { definition: banned, section: { verdict: 'banned', labels: section.labels } },
  });
});

describe('what the servers refused', () => {
  const outKeys = new Set([keyFingerprint('K1')]);
  const listed = (record: typeof member, shown: { cluster?: ClusterObject } = {}) =>
    reviewProjection({ record, cluster: shown.cluster, request: undefined, heartbeat, nowMs, outKeys });

  test('who was let in, and is shown nowhere any more, is out: it has left since', () => {
    const found = listed(member);
    expect(found).toMatchObject({
      kind: 'taken back',
      draft: { definition: revoked, reason: 'RestoredFromRevocations' },
    });
    const section = found?.draft.section as Decision;
    expect(section).toMatchObject({ verdict: 'revoked', revokedKeys: [{ key: 'K1', atMs: nowMs }] });
    expect(section.approvedKey).toBeUndefined();
  });

  test('whatever Kubernetes shows: an older projection has it as let in', () => {
    expect(listed(member, { cluster: aCluster({ observed: known }) })?.draft.definition).toBe(revoked);
    expect(listed(member, { cluster: aCluster() })?.draft.definition).toBe(revoked);
    // Whose word it was, Kubernetes knows better.
    expect(listed(member, { cluster: aCluster({ accepted: 'PersonBanned' }) })?.draft.definition).toBe(
      banned,
    );
  });

  test('who waits is denied: no policy lets it in', () => {
    for (const record of [waiting, aRecord(anIdentity())])
      expect(listed(record)?.draft.definition).toBe(denied);
  });

  test('nothing follows for another key, nor for who is out already', () => {
    expect(listed(out)).toBeUndefined();
    expect(listed(nothing)).toBeUndefined();
    const other = aRecord(anIdentity({ state: 'admitted', admittedKey: 'K2' }), {
      definition: approved,
      section: aDecision({ approvedKey: 'K2' }),
    });
    expect(listed(other)).toBeUndefined();
  });
});

describe('what people said before counts no more', () => {
  const approval = aRequestObject({ decision: { verdict: 'Approve' } });
  const digest = readPersonDecision(approval)?.digest;
  const spoken = (verb: string, key = 'K1') => ({
    id: 'w1',
    verb,
    by: 'anna',
    keyFingerprint: keyFingerprint(key),
  });
  const spent = (record: typeof member, shown: { cluster?: ClusterObject; request?: typeof approval }) => {
    const projection = { record, cluster: shown.cluster, request: shown.request, heartbeat, nowMs };
    return spentWords(projection, reviewProjection(projection));
  };
  const revokedSince = aCluster({ accepted: 'PersonRevoked', operation: spoken('Revoke') });
  const inForce = aCluster({ operation: spoken('Revoke') });

  test.each([
    { name: 'an approval of who was revoked since', record: member, cluster: revokedSince },
    { name: 'an approval of who waits', record: waiting },
    { name: 'an approval of who is in', record: member },
    { name: 'an approval of a cluster that the backup does not know', record: nothing },
  ])('$name', ({ record, cluster }) => {
    const found = spent(record, { request: approval, ...(cluster ? { cluster } : {}) });
    expect(found).toContain(digest);
  });

  test.each([
    { name: 'a revocation that the review took over', record: member, cluster: revokedSince },
    { name: 'a revocation of a cluster that the backup does not know', record: nothing, cluster: inForce },
    {
      name: 'one of a key that is not in',
      record: member,
      cluster: aCluster({ operation: spoken('Revoke', 'K0') }),
    },
    { name: 'Unban', record: out, cluster: aCluster({ operation: spoken('Unban') }) },
    { name: 'ReplaceKey', record: member, cluster: aCluster({ operation: spoken('ReplaceKey', 'K2') }) },
    { name: 'RotateKey', record: member, cluster: aCluster({ operation: spoken('RotateKey') }) },
  ])('$name', ({ record, cluster }) => {
    expect(spent(record, { cluster })).toEqual(['u1/w1']);
  });

  test.each([
    { name: 'a revocation of the key that is in', record: member, cluster: inForce },
    { name: 'a ban of who is in', record: member, cluster: aCluster({ operation: spoken('Ban') }) },
    { name: 'a ban of who is not known', record: nothing, cluster: aCluster({ operation: spoken('Ban') }) },
  ])('but $name takes once more', ({ record, cluster }) => {
    expect(spent(record, { cluster })).toEqual([]);
  });

  test('what the backup has as acted on needs no mention', () => {
    const section = aDecision({
      verdict: 'revoked',
      ...(digest ? { actedOn: digest } : {}),
      operations: ['w1'],
    });
    const record = aRecord(anIdentity(), { definition: revoked, section });
    expect(spent(record, { request: approval, cluster: revokedSince })).toEqual([]);
  });
});
