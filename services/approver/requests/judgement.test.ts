import {
  approved,
  counted,
  type Decision,
  denied,
  held,
  type Identity,
  leaving,
  type MemberProof,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { fleetAggregate } from '../fleet/fleet-view.ts';
import type { PolicyRule } from '../policy/policy-problem.ts';
import { decideRequest } from './decide-request.ts';
import { isOpen, judge, type PolicyOutcome } from './judgement.ts';
import { aDecision, anIdentity, aRecord, aRequest, heartbeat, nowMs } from '../tests/builders.ts';

const rule = (effect: PolicyRule['effect'], more: Partial<PolicyRule> = {}): PolicyRule => ({
  name: effect.toLowerCase(),
  when: 'true',
  effect,
  ...more,
});
const matching = (...rules: PolicyRule[]): PolicyOutcome => ({
  kind: 'evaluated',
  matches: rules.map((each) => ({ policy: 'default', generation: 3, rule: each })),
  failures: [],
});
const failing: PolicyOutcome = {
  ...matching(rule('Deny')),
  kind: 'evaluated',
  matches: [{ policy: 'default', generation: 3, rule: rule('Deny') }],
  failures: [{ policy: 'default', generation: 3, rule: 'broken', message: 'No such key: region' }],
};
const timeout: PolicyOutcome = { kind: 'timeout', deadlineMs: 100 };
const approve = matching(rule('Approve'));
function aPredefined(clusterSet: string | undefined, verdict: Decision['verdict'] = 'predefined'): Decision {
  const { approvedKey: _approved, requestId: _request, key: _key, ...decision } = aDecision({ verdict });
  const set = clusterSet === undefined ? {} : { clusterSet };
  return { ...decision, predefined: { clusterType: 'Standard', mode: 'Pull' }, ...set };
}
const newKey = anIdentity({ admittedKey: 'K0' });

test.each([
  { name: 'nothing matches', outcome: matching(), want: 'NoRuleMatched' },
  { name: 'a rule approves', outcome: approve, want: 'PolicyApproved' },
  { name: 'hold heartbeats approve', outcome: matching(rule('Approve'), rule('Hold')), want: 'PolicyHeld' },
  {
    name: 'deny heartbeats hold',
    outcome: matching(rule('Hold'), rule('Approve'), rule('Deny')),
    want: 'PolicyDenied',
  },
  { name: 'an error heartbeats deny', outcome: failing, want: 'PolicyError' },
  { name: 'a timeout holds', outcome: timeout, want: 'PolicyTimeout' },
  {
    name: 'another key is held, whatever policies say',
    identity: newKey,
    outcome: approve,
    want: 'KeyChanged',
  },
  { name: 'another key is held before a timeout', identity: newKey, outcome: timeout, want: 'KeyChanged' },
  {
    name: 'another key than the approved one is held, although that one was not admitted yet',
    previous: aDecision({ requestId: 'R0', key: 'K0' }),
    outcome: approve,
    want: 'KeyChanged',
  },
  {
    name: 'a key that was taken back is held, whatever policies say',
    previous: aDecision({ verdict: 'leaving', requestId: 'R0', revokedKeys: [{ key: 'K1', atMs: 1 }] }),
    outcome: approve,
    want: 'KeyRevoked',
  },
  {
    name: 'who came after the backup is held, whatever policies say',
    identity: anIdentity({ request: aRequest({ memberBeforeRestore: { issuedAtMs: 1, endsAtMs: 2 } }) }),
    outcome: approve,
    want: 'RegisteredAfterBackup',
  },
  {
    name: 'the same key with another request gets the same approval',
    previous: aDecision({ requestId: 'R0', reason: 'PersonApproved' }),
    outcome: matching(rule('Deny')),
    want: 'PersonApproved',
  },
  {
    name: 'the same key with another request gets the same denial',
    previous: aDecision({ verdict: 'denied', requestId: 'R0', reason: 'PersonDenied' }),
    outcome: approve,
    want: 'PersonDenied',
  },
  {
    name: 'the owner asks again while another key is held',
    previous: aDecision({ verdict: 'held', requestId: 'R0', key: 'K2', approvedKey: 'K1' }),
    outcome: matching(rule('Deny')),
    want: 'KeyKnown',
  },
  {
    name: 'what was approved stays so',
    previous: aDecision(),
    outcome: matching(rule('Deny')),
    want: undefined,
  },
  {
    name: 'what was denied stays so',
    previous: aDecision({ verdict: 'denied' }),
    outcome: approve,
    want: undefined,
  },
  {
    name: 'a banned cluster',
    previous: aDecision({ verdict: 'banned', requestId: 'R0' }),
    outcome: approve,
    want: undefined,
  },
  { name: 'a cluster that left', identity: anIdentity({ state: 'left' }), outcome: approve, want: undefined },
  {
    name: 'what is held may be approved later',
    previous: aDecision({ verdict: 'held' }),
    outcome: approve,
    want: 'PolicyApproved',
  },
  {
    name: 'a predefined set that no token gives',
    previous: aPredefined('prod'),
    outcome: approve,
    want: 'SetNotGiven',
  },
  {
    name: 'a predefined set, and a token of another',
    identity: anIdentity({ request: aRequest({ clusterSet: 'test' }) }),
    previous: aPredefined('prod'),
    outcome: approve,
    want: 'SetNotGiven',
  },
  {
    name: 'a predefined set, held for it before',
    previous: aPredefined('prod', 'held'),
    outcome: approve,
    want: 'SetNotGiven',
  },
  {
    name: 'a predefined set that the token gives',
    identity: anIdentity({ request: aRequest({ clusterSet: 'prod' }) }),
    previous: aPredefined('prod'),
    outcome: approve,
    want: 'PolicyApproved',
  },
  {
    name: 'a predefined set that the rule gives',
    previous: aPredefined('prod'),
    outcome: matching(rule('Approve', { clusterSet: 'prod' })),
    want: 'PolicyApproved',
  },
  {
    name: 'a predefined cluster of no set',
    identity: anIdentity({ request: aRequest({ clusterSet: 'prod' }) }),
    previous: aPredefined(undefined),
    outcome: approve,
    want: 'PolicyApproved',
  },
  {
    name: 'a predefined set, denied by a rule',
    previous: aPredefined('prod'),
    outcome: matching(rule('Approve'), rule('Deny')),
    want: 'PolicyDenied',
  },
])('judge: $name → $want', ({ identity = anIdentity(), previous, outcome, want }) => {
  expect(judge({ identity, previous, outcome })?.reason).toBe(want);
});

const decide = (outcome: PolicyOutcome, previous?: Decision, identity = anIdentity()) => {
  const definition =
    previous?.verdict === 'held'
      ? held
      : previous?.verdict === 'denied'
        ? denied
        : previous?.verdict === 'leaving'
          ? leaving
          : approved;
  const record = aRecord(identity, previous && { definition, section: previous });
  const [event, ...more] = decideRequest({ record, outcome, heartbeat, nowMs });
  expect(more).toEqual([]);
  return event && { ...event, section: event.section as Decision };
};

test('an approval names policy, generation and rule, and gives what the rule gives', () => {
  const event = decide(
    matching(
      rule('Approve', { labels: { tier: 'gold' }, clusterSet: 'blue', access: 'Namespace', reason: 'ours' }),
    ),
  );
  expect(event?.definition).toBe(approved);
  expect(event?.by).toEqual({ policy: 'default', generation: 3, rule: 'approve' });
  expect(event?.message).toBe('rule "approve" of policy "default" approves: ours');
  expect(event?.section).toMatchObject({
    verdict: 'approved',
    requestId: 'R1',
    key: 'K1',
    approvedKey: 'K1',
    namespace: 'alpha',
    labels: { env: 'test', tier: 'gold' },
    clusterSet: 'blue',
    access: 'Namespace',
    heartbeat,
    decidedAtMs: nowMs,
  });
});

test('the set of the token heartbeats the set of the rule', () => {
  const identity = anIdentity({ request: aRequest({ clusterSet: 'of-token' }) });
  expect(
    decide(matching(rule('Approve', { clusterSet: 'of-rule' })), undefined, identity)?.section.clusterSet,
  ).toBe('of-token');
});

test('a held request says what a person has to do', () => {
  const event = decide(matching());
  expect(event?.definition).toBe(held);
  expect(event?.message).toContain(`kubectl patch clusterregistrationrequests.rollcall.dev c-1`);
  expect(event?.section.approvedKey).toBeUndefined();
});

test.each([
  { name: 'a rule holds it', outcome: matching(rule('Hold')), want: 'PolicyHeld' },
  { name: 'a rule failed', outcome: failing, want: 'PolicyError' },
])('of a key that proved to be of the same member, one command is said, the one that works: $name', (row) => {
  const readsSameMember = { policy: 'default', generation: 3, rule: rule('Approve'), readsSameMember: true };
  const outcome = row.outcome.kind === 'evaluated' && {
    ...row.outcome,
    matches: [readsSameMember, ...row.outcome.matches],
  };
  const identity = anIdentity({
    admittedKey: 'K0',
    request: { ...aRequest(), member: { sameMember: true } },
  });
  const previous = aDecision({ requestId: 'R0', key: 'K0', approvedKey: 'K0' });
  const event = decide(outcome || matching(), previous, identity);
  expect(event?.reason).toBe(row.want);
  expect(event?.message).toContain(`--replace-key ${identity.request.keyFingerprint}`);
  expect(event?.message).not.toContain('kubectl patch');
});

test('held again only when the reason or the rule changes, or what the rule says', () => {
  const before = (event = decide(matching())) => aDecision(event?.section);
  expect(decide(matching(), before())).toBeUndefined();
  expect(decide(timeout, before())?.reason).toBe('PolicyTimeout');
  const freeze = decide(matching({ ...rule('Hold'), name: 'freeze' }));
  expect(decide(matching({ ...rule('Hold'), name: 'freeze' }), before(freeze))).toBeUndefined();
  const full = decide(matching({ ...rule('Hold'), name: 'full' }), before(freeze));
  expect(full).toMatchObject({ reason: 'PolicyHeld', by: { rule: 'full' } });
  const written = (generation: number, reason: string) => ({
    kind: 'evaluated' as const,
    failures: [],
    matches: [{ policy: 'default', generation, rule: { ...rule('Hold'), reason }, readsSameMember: false }],
  });
  const before4 = before(decide(written(4, 'NewSite')));
  expect(decide(written(5, 'NewSite'), before4)).toBeUndefined();
  expect(decide(written(5, 'SiteTeam'), before4)?.message).toContain('SiteTeam');
});

test('of another key it is held again where its proof of member is another', () => {
  const asked = (member: MemberProof) =>
    anIdentity({ admittedKey: 'K0', request: { ...aRequest(), member } });
  const failed = asked({ sameMember: false, problem: 'it has expired' });
  const [first] = decideRequest({
    record: aRecord(failed),
    outcome: matching(),
    heartbeat,
    nowMs,
  });
  const decision = first?.section as Decision;
  const again = (identity: Identity) =>
    decideRequest({
      record: aRecord(identity, { definition: held, section: decision }),
      outcome: matching(),
      heartbeat,
      nowMs,
    });
  expect(again(failed)).toEqual([]);
  expect(again(asked({ sameMember: true }))).toMatchObject([
    { reason: 'KeyChanged', message: expect.stringContaining('it proved that it is of the same member') },
  ]);
});

test('while another key is held, the owner keeps name, labels and key', () => {
  const identity = anIdentity({
    admittedKey: 'K0',
    clusterName: 'beta',
    request: aRequest({ labels: { evil: 'yes' } }),
  });
  const event = decide(approve, aDecision({ requestId: 'R0', key: 'K0', labels: { good: 'yes' } }), identity);
  expect(event?.section).toMatchObject({
    verdict: 'held',
    key: 'K1',
    approvedKey: 'K0',
    clusterName: 'alpha',
    labels: { good: 'yes' },
  });
});

test('after it left, a cluster starts anew, and the keys that were taken back stay so', () => {
  const revokedKeys = [{ key: 'K0', atMs: 5 }];
  const event = decide(
    approve,
    aDecision({
      verdict: 'leaving',
      requestId: 'R0',
      key: 'K0',
      labels: { old: 'yes' },
      actedOn: 'd',
      revokedKeys,
    }),
  );
  expect(event?.section).toMatchObject({
    verdict: 'approved',
    labels: { env: 'test' },
    actedOn: 'd',
    revokedKeys,
  });
});

test('only an open request is worth asking the policies', () => {
  expect(isOpen(aRecord(anIdentity()))).toBe(true);
  expect(isOpen(aRecord(anIdentity(), { definition: held, section: aDecision({ verdict: 'held' }) }))).toBe(
    true,
  );
  expect(isOpen(aRecord(anIdentity(), { definition: approved, section: aDecision() }))).toBe(false);
});

test('an approval by policy on counts of the fleet is appended to them, so that it is the only one', () => {
  const fleet = { record: { aggregate: fleetAggregate, head: undefined, newest: undefined, lastOf: {} } };
  const context = { record: aRecord(anIdentity()), heartbeat, nowMs, fleet };
  const [, also] = decideRequest({ ...context, outcome: approve });
  expect(also).toMatchObject({
    definition: counted,
    aggregate: fleetAggregate,
    section: { clusterId: 'c-1', requestId: 'R1' },
  });
  expect(decideRequest({ ...context, outcome: matching() })).toHaveLength(1);
  expect(decideRequest({ ...context, outcome: matching(rule('Deny')) })).toHaveLength(1);
  const { fleet: _not, ...uncounted } = context;
  expect(decideRequest({ ...uncounted, outcome: approve })).toHaveLength(1);
});
