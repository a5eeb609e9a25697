import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { createPolicyEnvironment } from '../policy/policy-environment.ts';
import { readsField } from '../policy/read-expression.ts';
import type { PolicyRule } from '../policy/policy-problem.ts';
import { decideRequest } from './decide-request.ts';
import { judge, type PolicyOutcome } from './judgement.ts';
import { aDecision, anIdentity, aRecord, aRequest, heartbeat, nowMs } from '../tests/builders.ts';
import { approved } from '@rollcall/shared/events';

const environment = createPolicyEnvironment();
const rule = (
  name: string,
  when: string,
  effect: PolicyRule['effect'] = 'Approve',
  more = {},
): PolicyRule => ({
  name,
  when,
  effect,
  ...more,
});
const valid = rule('valid-token', 'token.valid');
const returns = rule('reinstalled', 'verified.sameMember && token.valid');
/** As if each of these had given true. */
const saying = (...rules: PolicyRule[]): PolicyOutcome => ({
  kind: 'evaluated',
  matches: rules.map((each) => ({
    policy: 'p',
    generation: 1,
    rule: each,
    readsSameMember: readsField(environment, each.when, 'sameMember'),
  })),
  failures: [],
});

const owner = aDecision({ requestId: 'R0', key: 'K0' });
const asking = (sameMember: boolean | undefined) =>
  anIdentity({
    state: 'admitted',
    admittedKey: 'K0',
    request: aRequest(
      sameMember === undefined
        ? {}
        : { member: { sameMember, ...(sameMember ? {} : { problem: 'it has expired' }) } },
    ),
  });

test.each([
  { name: 'the proof and a rule about it', member: true, outcome: saying(returns), want: 'PolicyApproved' },
  {
    name: 'a rule about it, among others',
    member: true,
    outcome: saying(valid, returns),
    want: 'PolicyApproved',
  },
  {
    name: 'the proof, and rules about other things only',
    member: true,
    outcome: saying(valid),
    want: 'KeyChanged',
  },
  { name: 'the proof, and no rule', member: true, outcome: saying(), want: 'KeyChanged' },
  {
    name: 'a rule, and a proof that does not hold',
    member: false,
    outcome: saying(returns),
    want: 'KeyChanged',
  },
  { name: 'a rule, and no proof', member: undefined, outcome: saying(returns), want: 'KeyChanged' },
  {
    name: 'a rule that denies beside it',
    member: true,
    outcome: saying(returns, rule('no', 'true', 'Deny')),
    want: 'PolicyDenied',
  },
  {
    name: 'a rule that holds beside it',
    member: true,
    outcome: saying(returns, rule('wait', 'verified.sameMember', 'Hold')),
    want: 'PolicyHeld',
  },
  {
    name: 'policies that took too long',
    member: true,
    outcome: { kind: 'timeout', deadlineMs: 100 } as const,
    want: 'KeyChanged',
  },
])('another key with $name → $want', ({ member, outcome, want }) => {
  expect(judge({ identity: asking(member), previous: owner, outcome })?.reason).toBe(want);
});

test.each([
  {
    name: 'was taken back',
    previous: aDecision({
      verdict: 'denied',
      requestId: 'R0',
      key: 'K0',
      revokedKeys: [{ key: 'K0', atMs: 1 }],
    }),
  },
  { name: 'is not the one whose issuer was pinned', previous: aDecision({ requestId: 'R0', key: 'K9' }) },
])('no policy lets another key in while the known one $name', ({ previous }) => {
  expect(judge({ identity: asking(true), previous, outcome: saying(returns) })?.reason).toBe('KeyChanged');
});

test('the rule that is said to have decided is the one that may', () => {
  const judgement = judge({ identity: asking(true), previous: owner, outcome: saying(valid, returns) });
  expect(judgement?.by).toEqual({ policy: 'p', generation: 1, rule: 'reinstalled' });
});

test('a key that was taken back itself does not come back by a proof', () => {
  const previous = { ...owner, revokedKeys: [{ key: 'K1', atMs: 1 }] };
  expect(judge({ identity: asking(true), previous, outcome: saying(returns) })?.reason).toBe('KeyRevoked');
});

test('a person sees both keys, what came of the proof, and what to do', () => {
  const message = judge({ identity: asking(false), previous: owner, outcome: saying() })?.message;
  expect(message).toContain(`known under another key (${keyFingerprint('K0')})`);
  expect(message).toContain(`the one that asks (${keyFingerprint('K1')})`);
  expect(message).toContain('its proof of member does not hold: it has expired');
  expect(message).toContain(`rollcall approve alpha --replace-key ${keyFingerprint('K1')}`);
});

test('who comes back has what the cluster was given, and not what the rule gives to new ones', () => {
  const record = aRecord(asking(true), {
    definition: approved,
    section: { ...owner, labels: { env: 'relabelled' }, access: 'Namespace' },
  });
  const outcome = saying(rule('reinstalled', 'verified.sameMember', 'Approve', { labels: { env: 'x' } }));
  const [event] = decideRequest({ record, outcome, heartbeat, nowMs });
  expect(event?.section).toMatchObject({
    verdict: 'approved',
    approvedKey: 'K1',
    labels: { env: 'relabelled' },
    access: 'Namespace',
    revokedKeys: [{ key: 'K0', atMs: nowMs }],
  });
});

test.each([
  { when: 'verified.sameMember && token.valid', want: true },
  { when: '!verified.sameMember', want: true },
  { when: 'token.valid && "sameMember" != ""', want: false },
  { when: 'verified.keyChanged', want: false },
  { when: 'verified.sameMember &&', want: false },
])('readsField: $when → $want', ({ when, want }) => {
  expect(readsField(environment, when, 'sameMember')).toBe(want);
});
