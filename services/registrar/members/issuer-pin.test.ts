import { approved, draft, type MemberIssuer, type MemberProof } from '@rollcall/shared/events';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { aDecision, aDeclaration } from '../../../tests/harness/events.ts';
import { tokenDeclared } from '@rollcall/shared/events';
import { admissionStep } from './follow-decisions.ts';
import { judgeJoin } from '../join/judge-join.ts';
import { decidePin, pinOf } from './issuer-pin.ts';
import { MemoryLog } from '../tests/memory-log.ts';
import { asAttempt } from '../tests/token-holders.ts';

const nowMs = 1_700_000_000_000;
const [owner, other, tokenKey] = [createNkey('user'), createNkey('user'), createNkey('user')].map(
  ({ publicKey }) => publicKey,
) as [string, string, string];
const anIssuer = (kid: string): MemberIssuer => ({
  issuer: 'https://member',
  subject: 'system:serviceaccount:rollcall-agent:rollcall-agent',
  keys: [{ kid, kty: 'RSA', n: 'AQAB', e: 'AQAB' }],
});
const proof = (kid: string, sameMember = false): MemberProof => ({ sameMember, shown: anIssuer(kid) });

interface AttemptOptions {
  key: string;
  member?: MemberProof | undefined;
  id?: string;
  signedAtMs?: number;
}

function attempt(log: MemoryLog, { key, member, id = `ask-${key}`, signedAtMs = nowMs }: AttemptOptions) {
  const about = { clusterId: 'id-1', clusterName: 'one', tokenId: tokenIdOf(tokenKey), agentKey: key, nowMs };
  const verdict = judgeJoin(
    asAttempt({
      id,
      agentKey: key,
      tokenProven: true,
      signedAtMs,
      body: {
        clusterId: 'id-1',
        clusterName: 'one',
        clusterType: 'Standard',
        mode: 'Pull',
        tokenKey,
        labels: {},
        facts: {},
      },
    }),
    { ...log.joinContext(about), member },
  );
  log.append(verdict.drafts);
  return verdict;
}

function approve(log: MemoryLog, key: string): void {
  const record = log.cluster('id-1');
  const section = aDecision({
    verdict: 'approved',
    approvedKey: key,
    key,
    requestId: record.identity?.request.id,
  });
  log.append([draft(approved, record, { reason: 'Approved', message: 'm', section })]);
}
const admit = (log: MemoryLog) => log.append(admissionStep({ record: log.cluster('id-1'), nowMs }));

function aHub(): MemoryLog {
  const log = new MemoryLog();
  const on = log.read({ kind: 'token', id: tokenIdOf(tokenKey) });
  const section = aDeclaration({ publicKey: tokenKey, uses: 'unlimited' });
  log.append([draft(tokenDeclared, on, { reason: 'Declared', message: 'm', section })]);
  return log;
}

function aMember(): MemoryLog {
  const log = aHub();
  attempt(log, { key: owner, member: proof('one') });
  approve(log, owner);
  admit(log);
  return log;
}

test('what the approved request showed is pinned, and before that nothing is', () => {
  const log = aHub();
  attempt(log, { key: owner, member: proof('one') });
  expect(pinOf(log.cluster('id-1'))).toBeUndefined();
  approve(log, owner);
  admit(log);
  expect(pinOf(log.cluster('id-1'))).toEqual(anIssuer('one'));
  // Once in each later event, and not twice.
  expect(log.cluster('id-1').identity?.request.member).toEqual({ sameMember: false });
});

test("another key's request leaves the pin alone", () => {
  const log = aMember();
  attempt(log, { key: other, member: proof('evil') });
  expect(log.cluster('id-1').identity).toMatchObject({ admittedKey: owner, member: anIssuer('one') });
});

test.each([
  { name: 'its own', member: proof('two'), want: anIssuer('two') },
  { name: 'none where it showed none', member: undefined, want: undefined },
])('a key that replaces another has $name', ({ member, want }) => {
  const log = aMember();
  attempt(log, { key: other, member });
  approve(log, other);
  admit(log);
  expect(log.cluster('id-1').identity).toMatchObject({ admittedKey: other });
  expect(pinOf(log.cluster('id-1'))).toEqual(want);
});

test('an approval that another request has overtaken pins nothing of that one', () => {
  const log = aHub();
  attempt(log, { key: owner, member: proof('one') });
  approve(log, owner);
  attempt(log, { key: other, member: proof('evil') });
  admit(log);
  expect(log.cluster('id-1').identity?.admittedKey).toBe(owner);
  expect(pinOf(log.cluster('id-1'))).toBeUndefined();
});

test.each([
  { name: 'new keys of the owner', agentKey: owner, shown: anIssuer('two'), want: ['pinned'] },
  { name: 'the same keys', agentKey: owner, shown: anIssuer('one'), want: [] },
  { name: 'keys of somebody else', agentKey: other, shown: anIssuer('evil'), want: [] },
])('with a renewal, $name → $want', ({ agentKey, shown, want }) => {
  const log = aMember();
  attempt(log, { key: other, member: proof('evil') });
  const drafts = decidePin({ record: log.cluster('id-1'), nowMs, isFull: false }, { agentKey, shown });
  expect(drafts.map(({ definition }) => definition.type)).toEqual(want);
});

test('an issuer that is another one with each renewal is taken four times a day, over every other request', () => {
  const log = aMember();
  const show = (kid: string, atMs: number, isFull = false) => {
    const context = { record: log.cluster('id-1'), nowMs: atMs, isFull };
    const drafts = decidePin(context, { agentKey: owner, shown: anIssuer(kid) });
    log.append(drafts);
    return drafts.length;
  };
  const taken = Array.from({ length: 1000 }, (_, index) => show(`a-${index}`, nowMs + index));
  expect(taken.reduce((sum, count) => sum + count, 0)).toBe(4);
  attempt(log, { key: other, member: proof('evil') });
  expect(show('after another key asked', nowMs + 2000)).toBe(0);
  expect(show('at the mark', nowMs + 86_401_000, true)).toBe(0);
  expect(show('the next day', nowMs + 86_401_000)).toBe(1);
  for (const kid of ['b-1', 'b-2', 'b-3', 'b-4']) show(kid, nowMs + 365 * 86_400_000);
  expect(show('after a clock that was a year ahead', nowMs + 2 * 86_401_000)).toBe(1);
});

test('a request from before the cluster left begins no new registration; one from after does', () => {
  const log = aMember();
  const record = log.cluster('id-1');
  const access = { state: 'deprovisioned' as const, verdict: 'leaving', namespace: 'one', atMs: nowMs };
  const leaving = aDecision({ verdict: 'leaving' });
  const gone = admissionStep({ record: { ...record, decision: leaving, access }, nowMs });
  log.append(gone);
  expect(log.cluster('id-1').identity?.state).toBe('left');
  const leftAtMs = log.cluster('id-1').lastOf.registrar?.timeMs ?? 0;
  expect(attempt(log, { key: owner, id: 'ask-captured', signedAtMs: leftAtMs - 1 }).refusal?.code).toBe(
    'REPLAYED',
  );
  expect(attempt(log, { key: owner, id: 'ask-new', signedAtMs: leftAtMs }).refusal).toBeUndefined();
});
