import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Access, Decision } from '@rollcall/shared/events';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { planAccess, isOfFormerRegistration } from './plan-access.ts';

const joined = anIdentity();
const identity = anIdentity({
  state: 'admitted',
  admittedKey: 'K1',
  request: { ...joined.request, id: 'R1', key: 'K1' },
});
const verdict = (name: Decision['verdict'], more: Partial<Decision> = {}): Decision =>
  aDecision({ verdict: name, requestId: 'R1', key: 'K1', clusterName: 'edge', namespace: 'edge', ...more });
const access = (state: Access['state'], more: Partial<Access> = {}): Access => ({
  state,
  namespace: 'edge',
  requestId: 'R1',
  atMs: 1,
  ...more,
});
const stranger = { requestId: 'R2', key: 'K2' };
const withAccess = { access: 'Namespace' } as const;
const account = { serviceAccount: 'rollcall-member', roleBinding: 'rollcall-member' };

test.each([
  { name: 'nothing decided', decision: undefined, had: undefined, want: undefined },
  { name: 'held', decision: verdict('held'), had: undefined, want: undefined },
  { name: 'predefined', decision: verdict('predefined'), had: undefined, want: undefined },
  { name: 'approved', decision: verdict('approved'), had: undefined, want: 'provision' },
  { name: 'approved and done', decision: verdict('approved'), had: access('provisioned'), want: undefined },
  {
    name: 'approved and failed before',
    decision: verdict('approved'),
    had: access('failed'),
    want: 'provision',
  },
  {
    name: 'approved again after a denial',
    decision: verdict('approved'),
    had: access('deprovisioned'),
    want: 'provision',
  },
  {
    name: 'another request approved',
    decision: verdict('approved', stranger),
    had: access('provisioned'),
    want: 'provision',
  },
  {
    name: 'approved under another name',
    decision: verdict('approved', { namespace: 'b' }),
    had: access('provisioned'),
    want: 'provision',
  },
  {
    name: 'approved with access',
    decision: verdict('approved', withAccess),
    had: undefined,
    want: 'give-access',
  },
  {
    name: 'approved with access and done',
    decision: verdict('approved', withAccess),
    had: access('provisioned', account),
    want: undefined,
  },
  {
    name: 'given access later',
    decision: verdict('approved', withAccess),
    had: access('provisioned'),
    want: 'give-access',
  },
  {
    name: 'with an account that nobody may use (an older Rollcall made it)',
    decision: verdict('approved'),
    had: access('provisioned', account),
    want: 'provision',
  },
  {
    name: 'held behind an approval with access that was not carried out',
    decision: verdict('held', { ...stranger, ...withAccess, approvedKey: 'K1' }),
    had: undefined,
    want: 'give-access',
  },
  {
    name: 'held behind an approval',
    decision: verdict('held', { ...stranger, approvedKey: 'K1' }),
    had: access('provisioned'),
    want: undefined,
  },
  { name: 'denied, never let in', decision: verdict('denied'), had: undefined, want: undefined },
  {
    name: 'denied after approval',
    decision: verdict('denied'),
    had: access('provisioned'),
    want: 'deprovision',
  },
  { name: 'denied after a failure', decision: verdict('denied'), had: access('failed'), want: 'deprovision' },
  { name: 'denied and done', decision: verdict('denied'), had: access('deprovisioned'), want: undefined },
  {
    name: 'a stranger denied',
    decision: verdict('denied', { ...stranger, approvedKey: 'K1' }),
    had: access('provisioned'),
    want: undefined,
  },
  {
    name: 'held behind an approval that was not carried out',
    decision: verdict('held', { ...stranger, approvedKey: 'K1' }),
    had: undefined,
    want: 'provision',
  },
  {
    name: 'held behind a denial that was not carried out',
    decision: verdict('held', stranger),
    had: access('provisioned'),
    want: 'deprovision',
  },
  { name: 'held, never let in', decision: verdict('held'), had: undefined, want: undefined },
  {
    name: 'a stranger denied after the owner was revoked',
    decision: verdict('denied', { ...stranger, revokedKeys: [{ key: 'K1', atMs: 1 }] }),
    had: access('provisioned'),
    want: 'deprovision',
  },
  { name: 'revoked', decision: verdict('revoked'), had: access('provisioned'), want: 'deprovision' },
  { name: 'revoked before it was told', decision: verdict('revoked'), had: undefined, want: 'deprovision' },
  { name: 'banned', decision: verdict('banned'), had: access('provisioned'), want: 'deprovision' },
  { name: 'leaving', decision: verdict('leaving'), had: access('provisioned'), want: 'deprovision' },
  { name: 'leaving, nothing made', decision: verdict('leaving'), had: undefined, want: 'deprovision' },
  {
    name: 'leaving after a revocation that kept the namespace',
    decision: verdict('leaving'),
    had: access('deprovisioned', { verdict: 'revoked' }),
    want: 'deprovision',
  },
  {
    name: 'leaving and done',
    decision: verdict('leaving'),
    had: access('deprovisioned', { verdict: 'leaving' }),
    want: undefined,
  },
  {
    name: 'leaving a second time',
    decision: verdict('leaving', { requestId: 'R3' }),
    had: access('deprovisioned', { verdict: 'leaving' }),
    want: 'deprovision',
  },
] as const)('$name → $want', ({ decision, had, want }) => {
  expect(planAccess({ identity, decision, access: had })).toBe(want);
});

test.each([
  { name: 'approved', decision: verdict('approved'), had: undefined, want: undefined },
  {
    name: 'approved again after a revocation',
    decision: verdict('approved', { requestId: 'R2' }),
    had: access('deprovisioned'),
    want: undefined,
  },
  {
    name: 'approved with access',
    decision: verdict('approved', withAccess),
    had: undefined,
    want: 'give-access',
  },
  {
    name: 'access was withdrawn',
    decision: verdict('approved'),
    had: access('provisioned', account),
    want: 'provision',
  },
  { name: 'it failed before', decision: verdict('approved'), had: access('failed'), want: 'provision' },
  { name: 'leaving', decision: verdict('leaving'), had: undefined, want: 'deprovision' },
] as const)('where only access makes a namespace: $name → $want', ({ decision, had, want }) => {
  expect(planAccess({ identity, decision, access: had }, 'access')).toBe(want);
});

test('whatever is decided, what was done and told is not asked for again', () => {
  const verdicts = ['approved', 'held', 'denied', 'revoked', 'banned', 'leaving', 'predefined'] as const;
  const states = ['provisioned', 'failed', 'deprovisioned'] as const;
  const decisions = fc.record({
    name: fc.constantFrom(...verdicts),
    requestId: fc.constantFrom('R1', 'R2'),
    key: fc.constantFrom('K1', 'K2'),
    revoked: fc.subarray(['K1', 'K2']),
    given: fc.constantFrom('None', 'Namespace'),
  });
  const had = fc.option(
    fc.record({ state: fc.constantFrom(...states), requestId: fc.constantFrom('R1', 'R2') }),
    {
      nil: undefined,
    },
  );
  fc.assert(
    fc.property(decisions, had, ({ name, requestId, key, revoked, given }, before) => {
      const revokedKeys = revoked.map((taken) => ({ key: taken, atMs: 1 }));
      const decision = verdict(name, { requestId, key, revokedKeys, access: given });
      const step = planAccess({ identity, decision, access: before && access(before.state, before) });
      if (!step) return;
      const state = step === 'deprovision' ? 'deprovisioned' : 'provisioned';
      const made = step === 'give-access' ? account : {};
      const after = access(state, { requestId, verdict: name, ...made });
      expect(planAccess({ identity, decision, access: after })).toBeUndefined();
    }),
  );
});

test('a predefined cluster that leaves before anybody claimed it has nothing to take away', () => {
  const { requestId: _none, ...decision } = verdict('leaving');
  expect(planAccess({ identity: undefined, decision, access: undefined })).toBeUndefined();
});

const ended = access('deprovisioned', { verdict: 'leaving' });
test.each([
  { name: 'is in', decision: verdict('approved'), had: undefined, want: false },
  { name: 'was denied', decision: verdict('denied'), had: undefined, want: false },
  {
    name: 'was denied, and asks anew',
    decision: verdict('held', stranger),
    had: access('deprovisioned', { verdict: 'denied' }),
    want: false,
  },
  { name: 'leaves', decision: verdict('leaving'), had: undefined, want: false },
  { name: 'has left', decision: verdict('leaving'), had: ended, want: true },
  { name: 'has left, and asks anew', decision: verdict('held', stranger), had: ended, want: true },
  { name: 'is in anew', decision: verdict('approved', stranger), had: ended, want: false },
  {
    name: 'came back by another name',
    decision: verdict('approved', { ...stranger, namespace: 'b' }),
    had: undefined,
    want: true,
  },
])('what was made for a cluster that $name is of a former registration: $want', ({ decision, had, want }) => {
  expect(isOfFormerRegistration(verdict('approved'), { identity, decision, access: had })).toBe(want);
});
