import { type Access, clusterRecord, type Decision, foldRecord } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDecision } from '../../../tests/harness/events.ts';
import { planAccess, areTokensStale } from '../access/plan-access.ts';
import { judgeMint } from './mint-verdict.ts';

const nowMs = 1_700_000_000_000;
const decided = (more: Partial<Decision> = {}): Decision =>
  aDecision({
    verdict: 'approved',
    requestId: 'R1',
    key: 'K1',
    approvedKey: 'K1',
    clusterName: 'edge',
    namespace: 'edge',
    access: 'Namespace',
    ...more,
  });
const made = (more: Partial<Access> = {}): Access => ({
  state: 'provisioned',
  namespace: 'edge',
  requestId: 'R1',
  serviceAccount: 'rollcall-member',
  roleBinding: 'rollcall-member',
  atMs: 1,
  ...more,
});
const record = (decision: Decision | undefined, access: Access | undefined) => ({
  ...clusterRecord(foldRecord({ kind: 'cluster', id: 'c1' }, [])),
  decision,
  access,
});
const given = { tokens: { key: 'K1', sinceMs: 1 } };
const stranger = { requestId: 'R2', key: 'K2' };

test.each([
  { name: 'nothing decided', decision: undefined, access: undefined, want: 'none' },
  { name: 'approved without access', decision: decided({ access: 'None' }), access: made(), want: 'none' },
  { name: 'another key is in', decision: decided({ approvedKey: 'K2' }), access: made(), want: 'none' },
  {
    name: 'no key is in',
    decision: decided({ verdict: 'held', approvedKey: undefined }),
    access: made(),
    want: 'none',
  },
  { name: 'denied', decision: decided({ verdict: 'denied' }), access: made(), want: 'none' },
  { name: 'leaving', decision: decided({ verdict: 'leaving' }), access: made(), want: 'none' },
  { name: 'banned', decision: decided({ verdict: 'banned' }), access: made(), want: 'none' },
  { name: 'predefined', decision: decided({ verdict: 'predefined' }), access: made(), want: 'none' },
  { name: 'nothing made yet', decision: decided(), access: undefined, want: 'not-yet' },
  { name: 'it could not be made', decision: decided(), access: made({ state: 'failed' }), want: 'not-yet' },
  { name: 'taken away', decision: decided(), access: made({ state: 'deprovisioned' }), want: 'not-yet' },
  {
    name: 'that of an earlier registration, elsewhere',
    decision: decided(),
    access: made({ namespace: 'former' }),
    want: 'not-yet',
  },
  {
    name: 'the account is not told of yet',
    decision: decided(),
    access: made({ serviceAccount: undefined }),
    want: 'not-yet',
  },
  {
    name: 'a former key still has tokens',
    decision: decided(),
    access: made({ tokens: { key: 'K0', sinceMs: 1 } }),
    want: 'not-yet',
  },
  { name: 'the first token', decision: decided(), access: made(), want: 'mint, access-given' },
  { name: 'a further token', decision: decided(), access: made(given), want: 'mint' },
  {
    name: 'a further one while a stranger is held',
    decision: decided({ ...stranger, verdict: 'held' }),
    access: made(given),
    want: 'mint',
  },
])('a token for K1: $name → $want', ({ decision, access, want }) => {
  const verdict = judgeMint(record(decision, access), { agentKey: 'K1', nowMs });
  const events = verdict.kind === 'mint' ? verdict.drafts.map(({ definition }) => definition.type) : [];
  expect([verdict.kind, ...events].join(', ')).toBe(want);
});

test.each([
  {
    name: 'none, but an account that nobody may use',
    decision: decided({ access: 'None' }),
    access: made(),
    stale: false,
    step: 'provision',
  },
  { name: 'good ones', decision: decided(), access: made(given), stale: false, step: undefined },
  {
    name: 'access withdrawn',
    decision: decided({ access: 'None' }),
    access: made(given),
    stale: true,
    step: 'provision',
  },
  {
    name: 'another key let in by a new request',
    decision: decided({ ...stranger, approvedKey: 'K2' }),
    access: made(given),
    stale: true,
    step: 'give-access',
  },
  {
    name: 'another key rotated to, with the same request',
    decision: decided({ approvedKey: 'K2' }),
    access: made(given),
    stale: true,
    step: 'give-access',
  },
  {
    name: 'no key is in any more',
    decision: decided({ verdict: 'revoked', approvedKey: undefined }),
    access: made(given),
    stale: true,
    step: 'deprovision',
  },
])('tokens that must end: $name', ({ decision, access, stale, step }) => {
  expect([areTokensStale({ decision, access }), planAccess(record(decision, access))]).toEqual([stale, step]);
});
