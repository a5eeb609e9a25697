import {
  approved,
  changed,
  clusterRecord,
  denied,
  foldRecord,
  held,
  leaving,
  nameRecord,
  nameReleased,
  nameTaken,
  revoked,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decidePersonDecision } from '../people/person-decision.ts';
import { decideRequest } from '../requests/decide-request.ts';
import { decideNameRelease, decideRevocation } from './events-after-decision.ts';
import {
  aDecision,
  anIdentity,
  aRecord,
  aRequest,
  clusterId,
  heartbeat,
  nowMs,
  stored,
} from '../tests/builders.ts';

const decidedAtMs = 1000;
const now = [{ key: 'K0', atMs: decidedAtMs }];
const before = [{ key: 'K0', atMs: decidedAtMs - 1 }];

test.each([
  { name: 'a denial that takes a key back', definition: denied, revokedKeys: now, want: 'revoked' },
  { name: 'leaving', definition: leaving, revokedKeys: now, want: 'revoked' },
  { name: 'an approval that replaces a key', definition: approved, revokedKeys: now, want: 'revoked' },
  { name: 'an approval after which an older key stays out', definition: approved, revokedKeys: before },
  { name: 'a denial of who was never in', definition: denied, revokedKeys: [] },
  { name: 'what was revoked already', definition: revoked, revokedKeys: now },
  { name: 'a change of settings', definition: changed, revokedKeys: now },
  { name: 'a hold', definition: held, revokedKeys: now },
])('decideRevocation: $name → $want', ({ definition, revokedKeys, want }) => {
  const section = aDecision({ decidedAtMs, revokedKeys });
  const events = decideRevocation(aRecord(anIdentity(), { definition, section }));
  expect(events.map((event) => event.definition.type)).toEqual(want === undefined ? [] : [want]);
  for (const event of events) expect(event.section).toEqual(section);
});

test('no other decision comes before a revocation that is due: it is found by its decision being the newest', () => {
  const section = aDecision({ verdict: 'denied', decidedAtMs, revokedKeys: now });
  const record = aRecord(anIdentity(), { definition: denied, section });
  const decision = {
    verdict: 'Approve',
    keyFingerprint: keyFingerprint('K1'),
    by: 'anna',
    reason: undefined,
    digest: 'd9',
    shown: { epoch: 1, sequence: 1_000_000 },
  } as const;
  const byPerson = decidePersonDecision({ record, decision, heartbeat, nowMs });
  const outcome = { kind: 'evaluated', matches: [], failures: [] } as const;
  const asksAgain = aRecord(anIdentity({ request: aRequest({ id: 'later', key: 'K9' }) }), {
    definition: denied,
    section,
  });
  const byPolicy = decideRequest({ record: asksAgain, outcome, heartbeat, nowMs });
  for (const drafts of [byPerson, byPolicy]) {
    expect(drafts.map(({ definition }) => definition.type)).toEqual(['revoked']);
  }
});

const aggregate = { kind: 'name', id: 'alpha' } as const;
const nameHeldBy = (holder: string, definition: typeof nameTaken | typeof nameReleased = nameTaken) => {
  const section = { name: 'alpha', clusterId: holder, free: definition === nameReleased };
  return nameRecord(
    foldRecord(aggregate, [
      stored({ definition, aggregate, head: undefined, reason: 'R', message: 'm', section }, 1),
    ]),
  );
};
const gone = aRecord(anIdentity({ state: 'left' }));

test.each([
  { name: 'a cluster that left', cluster: gone, held: nameHeldBy(clusterId), want: 1 },
  { name: 'a cluster that came back', cluster: aRecord(anIdentity()), held: nameHeldBy(clusterId), want: 0 },
  {
    name: 'a cluster that left and asked again in vain',
    cluster: aRecord(anIdentity({ state: 'refused' })),
    held: nameHeldBy(clusterId),
    want: 1,
  },
  {
    name: 'a cluster that came back by another name',
    cluster: aRecord(anIdentity({ clusterName: 'beta' })),
    held: nameHeldBy(clusterId),
    want: 1,
  },
  { name: 'a name that another cluster has', cluster: gone, held: nameHeldBy('c-2'), want: 0 },
  { name: 'a name that is free', cluster: gone, held: nameHeldBy(clusterId, nameReleased), want: 0 },
  {
    name: 'a cluster that nobody knows',
    cluster: clusterRecord(foldRecord(gone.aggregate, [])),
    held: nameHeldBy(clusterId),
    want: 0,
  },
])('decideNameRelease: $name', ({ cluster, held: name, want }) => {
  const events = decideNameRelease({ cluster, name });
  expect(events).toHaveLength(want);
  for (const event of events) expect(event.section).toEqual({ name: 'alpha', clusterId, free: true });
});
