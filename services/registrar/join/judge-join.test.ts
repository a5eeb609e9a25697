import {
  approved,
  leaving,
  draft,
  type Identity,
  type NameHolder,
  nameTaken,
  tokenDeclared,
  type TokenDeclaration,
} from '@rollcall/shared/events';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admissionStep } from '../members/follow-decisions.ts';
import { type JoinAttempt, refuseShape } from './join-attempt.ts';
import type { JoinContext } from './join-case.ts';
import { judgeJoin } from './judge-join.ts';
import { keyStatusOf } from '../replies/key-status.ts';
import { aDecision, aDeclaration } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';
import { asAttempt } from '../tests/token-holders.ts';

const nowMs = 1_700_000_000_000;
const [keyA, keyB, keyC] = [createNkey('user'), createNkey('user'), createNkey('user')].map(
  ({ publicKey }) => publicKey,
) as [string, string, string];
const tokens = [createNkey('user').publicKey, createNkey('user').publicKey] as const;

type AttemptOverrides = Partial<JoinAttempt['body']> &
  Partial<Pick<JoinAttempt, 'id' | 'agentKey' | 'tokenProven'>>;

function anAttempt({
  id = 'ask-00000001',
  agentKey = keyA,
  tokenProven = true,
  ...body
}: AttemptOverrides = {}): JoinAttempt {
  return asAttempt({
    id,
    agentKey,
    tokenProven,
    body: {
      clusterId: 'id-1',
      clusterName: 'one',
      clusterType: 'Standard',
      mode: 'Pull',
      tokenKey: tokens[0],
      labels: {},
      facts: { kubernetesVersion: 'v1.36.3' },
      ...body,
    },
  });
}

function declare(log: MemoryLog, overrides: Partial<TokenDeclaration> = {}): void {
  const publicKey = overrides.publicKey ?? tokens[0];
  const on = log.read({ kind: 'token', id: tokenIdOf(publicKey) });
  const section = aDeclaration({ publicKey, ...overrides });
  log.append([draft(tokenDeclared, on, { reason: 'Declared', message: 'm', section })]);
}

function withToken(overrides?: Partial<TokenDeclaration>): MemoryLog {
  const log = new MemoryLog();
  declare(log, overrides);
  return log;
}

function judgeOn(log: MemoryLog, attempt: JoinAttempt, overrides: Partial<JoinContext> = {}) {
  const { agentKey, body } = attempt;
  const { clusterId, clusterName, tokenKey = '' } = body;
  const tokenId = tokenIdOf(tokenKey);
  const context = log.joinContext({ clusterId, clusterName, tokenId, agentKey, nowMs });
  return judgeJoin(attempt, { ...context, ...overrides });
}

/** Judges and keeps. */
function join(log: MemoryLog, overrides?: AttemptOverrides) {
  const verdict = judgeOn(log, anAttempt(overrides));
  log.append(verdict.drafts);
  return verdict;
}

function approve(log: MemoryLog, clusterId = 'id-1'): void {
  const record = log.cluster(clusterId);
  const { key, id: requestId } = record.identity?.request ?? { key: '', id: '' };
  const section = aDecision({ verdict: 'approved', approvedKey: key, key, requestId });
  log.append([draft(approved, record, { reason: 'Approved', message: 'm', section })]);
  log.append(admissionStep({ record: log.cluster(clusterId), nowMs }));
}

function leave(log: MemoryLog, clusterId = 'id-1'): void {
  const record = log.cluster(clusterId);
  const access = { state: 'deprovisioned' as const, verdict: 'leaving', namespace: 'one', atMs: nowMs };
  log.append(
    admissionStep({ record: { ...record, decision: aDecision({ verdict: 'leaving' }), access }, nowMs }),
  );
}

const types = (drafts: readonly { definition: { type: string } }[]) =>
  drafts.map(({ definition }) => definition.type);

test('what the agent reports of its member counts among the bytes of its token', () => {
  const log = withToken({ uses: 9 });
  const claims = Array.from({ length: 50 }, (_, at) => ({ name: `${at}`, value: 'x'.repeat(1000) }));
  const plain = { id: 'ask-00000001', agentKey: keyA, clusterId: 'id-1', clusterName: 'one' };
  const large = { ...plain, agentKey: keyB, clusterId: 'id-2', clusterName: 'two', facts: { claims } };
  const limits = { maxBytesPerTokenPerDay: 20_000 };
  expect(judgeOn(log, anAttempt(plain), limits).refusal).toBeUndefined();
  expect(judgeOn(log, anAttempt(large), limits)).toMatchObject({ drafts: [], refusal: { code: 'HUB_BUSY' } });
});

test('a key belongs to the cluster that it first asked for, and to no other one', () => {
  const log = withToken({ uses: 9 });
  const first = anAttempt();
  const context = (clusterId: string) =>
    log.joinContext({
      clusterId,
      clusterName: clusterId,
      tokenId: tokenIdOf(tokens[0]),
      agentKey: first.agentKey,
      nowMs,
    });
  expect(log.append(judgeJoin(first, context(first.body.clusterId)).drafts)).toBe(true);
  const other = { ...first, body: { ...first.body, clusterId: 'other', clusterName: 'other' } };
  expect(judgeJoin(other, context('other'))).toMatchObject({ drafts: [], refusal: { code: 'KEY_TAKEN' } });
});

/** Each line is wrong in its own way and in all the ways of the lines after it, so the table guards the order too. */
const worst = {
  tokenProven: false,
  clusterName: 'kube-system',
  facts: { kubernetesVersion: 'v1.27.0' },
} as const;
test.each([
  {
    name: 'no proof of the token',
    token: { withdrawn: true, expiresAtMs: 1, clusterName: 'x', uses: 1 },
    attempt: worst,
    want: 'TOKEN_UNKNOWN',
  },
  {
    name: 'an expired token',
    token: { expiresAtMs: nowMs, withdrawn: true, clusterName: 'x' },
    attempt: { ...worst, tokenProven: true },
    want: 'TOKEN_EXPIRED',
  },
  {
    name: 'a withdrawn token',
    token: { withdrawn: true, clusterName: 'x' },
    attempt: { ...worst, tokenProven: true },
    want: 'TOKEN_UNKNOWN',
  },
  {
    name: 'a token for another name',
    token: { clusterName: 'x' },
    attempt: { ...worst, tokenProven: true },
    want: 'TOKEN_NAME_MISMATCH',
  },
  {
    name: 'a reserved name',
    token: {},
    attempt: { ...worst, tokenProven: true },
    want: 'CLUSTER_NAME_RESERVED',
  },
  {
    name: 'a name the hub reserves',
    token: {},
    attempt: { clusterName: 'default' },
    want: 'CLUSTER_NAME_RESERVED',
  },
  {
    name: 'an old member with a taken name',
    token: {},
    attempt: { clusterName: 'taken', facts: worst.facts },
    want: 'MEMBER_TOO_OLD',
  },
  { name: 'a taken name', token: {}, attempt: { clusterName: 'taken' }, want: 'NAME_TAKEN' },
] satisfies { name: string; token: Partial<TokenDeclaration>; attempt: AttemptOverrides; want: string }[])(
  '$name → $want',
  ({ token, attempt, want }) => {
    const log = withToken(token);
    const taken = log.read({ kind: 'name', id: 'taken' });
    const section = { name: 'taken', clusterId: 'other', free: false };
    log.append([draft(nameTaken, taken, { reason: 'Taken', message: 'm', section })]);
    expect(judgeOn(log, anAttempt(attempt)).refusal?.code).toBe(want);
  },
);

test.each([
  { name: 'a wildcard as id', body: { clusterId: '*' }, want: 'CLUSTER_ID_INVALID' },
  { name: 'another token in the id', body: { clusterId: 'a.b' }, want: 'CLUSTER_ID_INVALID' },
  { name: 'an id that is not that of the client id', body: { clientId: 'A B' }, want: 'CLUSTER_ID_INVALID' },
  { name: 'its own client id', body: { clientId: 'id-1' }, want: undefined },
  { name: 'a name that is no name', body: { clusterName: 'a.b' }, want: 'CLUSTER_NAME_INVALID' },
  { name: 'a name of 64 characters', body: { clusterName: 'a'.repeat(64) }, want: 'CLUSTER_NAME_INVALID' },
  { name: 'a name of 63 characters', body: { clusterName: 'a'.repeat(63) }, want: undefined },
])('the shape of $name → $want', ({ body, want }) => {
  expect(refuseShape(anAttempt(body).body)?.code).toBe(want);
});

test('a first request spends the token and takes the name, all in one', () => {
  const log = withToken();
  expect(types(join(log).drafts)).toEqual(['requested', 'used', 'taken', 'taken']);
  expect(log.cluster('id-1').identity).toMatchObject({
    state: 'requested',
    request: { key: keyA, tokenName: 'rollcall-join/one' },
  });
});

test('the same key asks again for nothing: before the decision, after it, after the token has ended', () => {
  const log = withToken();
  join(log);
  expect(judgeOn(log, anAttempt({ id: 'ask-00000002' }))).toEqual({ drafts: [] });
  declare(log, { expiresAtMs: 1, withdrawn: true });
  expect(judgeOn(log, anAttempt({ tokenProven: false }))).toEqual({ drafts: [] });
  approve(log);
  expect(judgeOn(log, anAttempt({ tokenProven: false }))).toEqual({ drafts: [] });
});

test('in a full place nothing that a waiting cluster says otherwise is kept, and it waits all the same', () => {
  const log = withToken();
  join(log);
  const otherwise = anAttempt({ facts: { kubernetesVersion: 'v1.37.0' } });
  const context = (code: 'HUB_FULL' | 'TOO_MANY_OPEN_REQUESTS') => ({
    ...log.joinContext({
      clusterId: 'id-1',
      clusterName: 'one',
      tokenId: tokenIdOf(tokens[0]),
      agentKey: keyA,
      nowMs: nowMs + 3_600_000,
    }),
    refuseNew: { code, message: 'full' },
  });
  expect(judgeJoin(otherwise, context('HUB_FULL'))).toEqual({ drafts: [] });
  expect(types(judgeJoin(otherwise, context('TOO_MANY_OPEN_REQUESTS')).drafts)).toEqual(['requested']);
});

test('a refusal is kept without what was asked for, and not at all once the place is nearly full', () => {
  const log = withToken({ expiresAtMs: nowMs - 1, allowLabels: ['*'] });
  const labels = Object.fromEntries(
    Array.from({ length: 64 }, (_, at) => [`a${at}.${'x'.repeat(245)}/${'k'.repeat(60)}`, 'v'.repeat(63)]),
  );
  const facts = { kubernetesVersion: 'v'.repeat(64), apiServerURL: 'u'.repeat(256), region: 'r'.repeat(256) };
  const clientId = 'c'.repeat(253);
  const large = anAttempt({ labels, facts, clientId, clusterName: 'n'.repeat(63) });
  const { drafts, refusal } = judgeOn(log, large);
  expect(refusal?.code).toBe('TOKEN_EXPIRED');
  expect(types(drafts)).toEqual(['refused']);
  expect(JSON.stringify(drafts[0]?.section).length).toBeLessThan(2048);
  const refuseNew = { code: 'HUB_FULL', message: 'full' } as const;
  expect(judgeOn(log, large, { refuseNew })).toEqual({ drafts: [], refusal });
});

test('credentials of before the restore take the place of a token that is not good, and of nothing else', () => {
  const memberBeforeRestore = { issuedAtMs: 1, endsAtMs: 2 };
  const judged = (log: MemoryLog, overrides: AttemptOverrides = {}) => {
    const attempt = anAttempt(overrides);
    const { clusterId, clusterName, tokenKey = '' } = attempt.body;
    const context = log.joinContext({
      clusterId,
      clusterName,
      tokenId: tokenIdOf(tokenKey),
      agentKey: attempt.agentKey,
      nowMs,
    });
    return judgeJoin(attempt, { ...context, memberBeforeRestore });
  };
  const ofToken = judged(withToken());
  expect(types(ofToken.drafts)).toEqual(['requested', 'used', 'taken', 'taken']);
  expect(ofToken.drafts[0]?.section).not.toHaveProperty('request.memberBeforeRestore');
  for (const log of [withToken({ expiresAtMs: 1, labels: { tier: 'gold' } }), new MemoryLog()]) {
    const { drafts } = judged(log);
    expect(types(drafts)).toEqual(['requested', 'taken', 'taken']);
    expect(drafts[0]?.section).toMatchObject({
      request: { memberBeforeRestore, tokenId: 'none', tokenName: '', labels: {} },
    });
  }
  const taken = withToken({ uses: 'unlimited' });
  join(taken, { clusterId: 'id-2', agentKey: keyB });
  expect(judged(taken, { tokenProven: false }).refusal?.code).toBe('NAME_TAKEN');
  expect(judged(new MemoryLog(), { clusterName: 'kube-system' }).refusal?.code).toBe('CLUSTER_NAME_RESERVED');
});

test('another key leaves the owner what it has', () => {
  const log = withToken({ uses: 2 });
  join(log);
  approve(log);
  expect(types(join(log, { agentKey: keyB, clusterType: 'Edge', clusterName: 'renamed' }).drafts)).toEqual([
    'requested',
    'used',
    'taken',
  ]);
  const record = log.cluster('id-1');
  expect(record.identity).toMatchObject({
    state: 'admitted',
    admittedKey: keyA,
    clusterName: 'one',
    clusterType: 'Standard',
    request: { key: keyB },
  });
  expect(keyStatusOf(record, keyA).kind).toBe('member');
  expect(keyStatusOf(record, keyB).kind).toBe('waiting');
  expect(judgeOn(log, anAttempt()).drafts).toEqual([]);
});

test('while a request waits, another key with a valid token cannot take its place', () => {
  const log = withToken({ uses: 3 });
  join(log);
  expect(join(log, { agentKey: keyB })).toMatchObject({ drafts: [], refusal: { code: 'REQUEST_OPEN' } });
  expect(log.cluster('id-1').identity?.request.key).toBe(keyA);
  approve(log);
  expect(types(join(log, { agentKey: keyB }).drafts)).toContain('requested');
  expect(join(log, { agentKey: keyC }).refusal?.code).toBe('REQUEST_OPEN');
});

test('a reinstalled agent that proves its member takes the place of a stranger, and nobody takes its own', () => {
  const log = withToken({ uses: 9 });
  join(log);
  approve(log);
  join(log, { agentKey: keyB });
  const attempt = anAttempt({ agentKey: keyC });
  const proven = judgeOn(log, attempt, { member: { sameMember: true } });
  expect(types(proven.drafts)).toContain('requested');
  log.append(proven.drafts);
  expect(log.cluster('id-1').identity).toMatchObject({ admittedKey: keyA, request: { key: keyC } });
  expect(join(log, { agentKey: keyB }).refusal?.code).toBe('REQUEST_OPEN');
  const again = judgeOn(log, anAttempt({ agentKey: keyB }), { member: { sameMember: true } });
  expect(again.refusal?.code).toBe('REQUEST_OPEN');
});

test('while a cluster leaves, a stranger with a valid token does not take the place of its leaving', () => {
  const log = withToken({ uses: 3 });
  join(log);
  approve(log);
  const record = log.cluster('id-1');
  const section = aDecision({ verdict: 'leaving', approvedKey: keyA, key: keyA });
  log.append([draft(leaving, record, { reason: 'Deleted', message: 'm', section })]);
  expect(join(log, { agentKey: keyB })).toMatchObject({ drafts: [], refusal: { code: 'CLUSTER_LEAVING' } });
  expect(log.cluster('id-1')).toMatchObject({
    decision: { verdict: 'leaving' },
    identity: { admittedKey: keyA },
  });
  // Once it has left, whoever has a token may ask for that id.
  leave(log);
  expect(types(join(log, { agentKey: keyC, id: 'later' }).drafts)).toContain('requested');
});

test('a token for other names does not open a known cluster under a name that it allows', () => {
  const log = withToken();
  join(log);
  declare(log, { publicKey: tokens[1], clusterName: 'edge-*' });
  const { refusal } = judgeOn(log, anAttempt({ agentKey: keyB, tokenKey: tokens[1], clusterName: 'edge-1' }));
  expect(refusal?.code).toBe('TOKEN_NAME_MISMATCH');
});

test('a cluster that has left needs a new use, also with its old key', () => {
  const log = withToken();
  join(log);
  approve(log);
  leave(log);
  expect(log.cluster('id-1').identity?.state).toBe('left');
  expect(judgeOn(log, anAttempt())).toEqual({ drafts: [] });
  expect(judgeOn(log, anAttempt({ id: 'ask-2' })).refusal?.code).toBe('TOKEN_USED_UP');
  declare(log, { publicKey: tokens[1] });
  expect(types(join(log, { id: 'ask-2', tokenKey: tokens[1] }).drafts)).toEqual([
    'requested',
    'used',
    // Again: a release that is on its way must lose.
    'taken',
  ]);
});

test('a cluster that leaves and comes back again and again does so 24 times a day', () => {
  const log = withToken({ uses: 'unlimited' });
  const lives = (count: number) => Array.from({ length: count }, (_, at) => ({ key: `U${at}`, atMs: nowMs }));
  const after = (count: number, laterMs = 0) => {
    const revokedKeys = lives(count).map((key) => ({ ...key, left: true }));
    const cluster = { ...log.cluster('id-1'), decision: aDecision({ revokedKeys }) };
    return judgeOn(log, anAttempt(), { cluster, nowMs: nowMs + laterMs }).refusal;
  };
  expect(after(23)).toBeUndefined();
  expect(after(24)).toMatchObject({ code: 'HUB_BUSY' });
  expect(after(24, 86_400_000)).toBeUndefined();
});

test('strangers who ask by the id of a member leave it half of the keys of a day', () => {
  const log = withToken({ uses: 'unlimited' });
  join(log);
  approve(log);
  const taken = Array.from({ length: 12 }, (_, at) => ({ key: `U${at}`, atMs: nowMs, byAgent: true }));
  const known = log.cluster('id-1');
  const after = (count: number, member?: JoinContext['member']) => {
    const decision = { ...aDecision(known.decision), revokedKeys: taken.slice(0, count) };
    const cluster = { ...known, decision };
    return judgeOn(log, anAttempt({ agentKey: keyB }), { cluster, member }).refusal?.code;
  };
  expect(after(11)).toBeUndefined();
  expect(after(12)).toBe('HUB_BUSY');
  expect(after(12, { sameMember: true })).toBeUndefined();
});

test('a late request of a registration that ended begins no new one, also where another key was refused since', () => {
  const log = withToken({ uses: 9 });
  join(log);
  approve(log);
  leave(log);
  join(log, { id: 'ask-2', agentKey: keyB, facts: { kubernetesVersion: 'v1.20.0' } });
  expect(log.cluster('id-1').identity?.state).toBe('refused');
  expect(judgeOn(log, anAttempt())).toEqual({ drafts: [] });
  expect(types(judgeOn(log, anAttempt({ id: 'ask-3' })).drafts)).toContain('requested');
});

test('a refusal after a leaving does not make that leaving begin again', () => {
  const log = withToken({ uses: 9 });
  join(log);
  approve(log);
  const section = aDecision({ verdict: 'leaving', key: keyA, requestId: 'ask-00000001' });
  log.append([draft(leaving, log.cluster('id-1'), { reason: 'Deleted', message: 'm', section })]);
  leave(log);
  join(log, { id: 'ask-2', agentKey: keyB, facts: { kubernetesVersion: 'v1.20.0' } });
  expect(log.cluster('id-1').identity?.state).toBe('refused');
  expect(types(judgeOn(log, anAttempt({ id: 'ask-3', agentKey: keyB })).drafts)).toContain('requested');
});

test('a predefined cluster that was deleted after its agent was refused leaves no trace that refuses it again', () => {
  const log = withToken({ uses: 9 });
  join(log, { facts: { kubernetesVersion: 'v1.20.0' } });
  const { requestId: _nobody, key: _none, ...section } = aDecision({ verdict: 'leaving' });
  log.append([draft(leaving, log.cluster('id-1'), { reason: 'Deleted', message: 'm', section })]);
  expect(types(judgeOn(log, anAttempt({ id: 'ask-2' })).drafts)).toContain('requested');
});

test('an approved key that another one overtook before it was admitted is no stranger', () => {
  const log = withToken();
  declare(log, { publicKey: tokens[1] });
  join(log);
  const section = aDecision({ verdict: 'approved', approvedKey: keyA, key: keyA });
  log.append([draft(approved, log.cluster('id-1'), { reason: 'Approved', message: 'm', section })]);
  join(log, { agentKey: keyB, tokenKey: tokens[1] });
  expect(judgeOn(log, anAttempt())).toEqual({ drafts: [] });
});

test('a refusal is kept once for a key and reason, never over a known identity, and not in a flood', () => {
  const old = { facts: { kubernetesVersion: 'v1.20.0' } };
  const log = withToken({ uses: 9 });
  expect(judgeOn(log, anAttempt(old), { refusalsLeft: 0 }).drafts).toEqual([]);
  expect(types(join(log, old).drafts)).toEqual(['refused']);
  expect(log.cluster('id-1').identity).toMatchObject({
    state: 'refused',
    refusal: { code: 'MEMBER_TOO_OLD' },
  });
  expect(join(log, old)).toMatchObject({ drafts: [], refusal: { code: 'MEMBER_TOO_OLD' } });
  expect(types(join(log, { ...old, agentKey: keyB }).drafts)).toEqual(['refused']);
  expect(types(join(log).drafts)).toEqual(['requested', 'used', 'taken', 'taken']);
  approve(log);
  expect(join(log, { ...old, agentKey: keyC })).toMatchObject({
    drafts: [],
    refusal: { code: 'MEMBER_TOO_OLD' },
  });
});

test('facts longer than history keeps are cut, labels are split', () => {
  const log = withToken({ allowLabels: ['team'], labels: { env: 'prod' } });
  const facts = { kubernetesVersion: `v1.36.0${'x'.repeat(200)}`, provider: 'y'.repeat(256) };
  const [first] = join(log, { facts, labels: { team: 'a', env: 'dev' } }).drafts;
  expect(first?.definition.body.shape.section.safeParse(first.section).success).toBe(true);
  expect((first?.section as Identity | undefined)?.request).toMatchObject({
    labels: { team: 'a', env: 'prod' },
    droppedLabels: ['env'],
  });
});

const step = fc.record({
  what: fc.constantFrom('join', 'join', 'join', 'approve', 'leave'),
  agentKey: fc.constantFrom(keyA, keyB, keyC),
  tokenKey: fc.constantFrom(...tokens),
  clusterId: fc.constantFrom('id-1', 'id-2', 'id-3'),
  clusterName: fc.constantFrom('one', 'two'),
  racer: fc.option(fc.constantFrom('id-1', 'id-2', 'id-3'), { nil: undefined }),
});

test('no history of joins, races, decisions and leavings breaks what must hold', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const log = withToken();
      declare(log, { publicKey: tokens[1], uses: 3 });
      for (const [at, { what, racer, clusterId, ...attempt }] of steps.entries()) {
        if (what === 'approve') approve(log, clusterId);
        else if (what === 'leave') leave(log, clusterId);
        else {
          // Both are judged on what both have read; only one of them can be kept where they meet.
          const racing = [clusterId, ...(racer === undefined ? [] : [racer])];
          for (const { drafts } of racing.map((id) =>
            judgeOn(log, anAttempt({ ...attempt, id: `ask-${at}`, clusterId: id })),
          ))
            log.append(drafts);
        }
      }
      const requests = log.events
        .filter(({ type }) => type === 'requested')
        .map((event) => event.section as Identity);
      const usesOf = (token: string) =>
        requests.filter(({ request }) => request.tokenId === tokenIdOf(token)).length;
      expect(usesOf(tokens[0])).toBeLessThanOrEqual(1);
      expect(usesOf(tokens[1])).toBeLessThanOrEqual(3);
      for (const id of ['id-1', 'id-2', 'id-3']) {
        let before: Identity | undefined;
        for (const event of log.events) {
          if (event.kind !== 'cluster' || event.id !== id || event.definition.writer !== 'registrar')
            continue;
          const identity = event.section as Identity;
          const sameRegistration =
            before !== undefined && before.state !== 'left' && before.state !== 'refused';
          expect(
            sameRegistration && (identity.clusterName !== before?.clusterName || event.type === 'refused'),
          ).toBe(false);
          expect(identity.state === 'admitted' && identity.admittedKey === undefined).toBe(false);
          before = identity;
        }
        const record = log.cluster(id);
        const members = [keyA, keyB, keyC].filter((key) => keyStatusOf(record, key).kind === 'member');
        expect(members.length).toBeLessThanOrEqual(1);
      }
      const holders = new Map(
        log.events.filter(({ kind }) => kind === 'name').map((event) => [event.id, event.section]),
      );
      expect(holders.size).toBeLessThanOrEqual(2);
      for (const name of ['one', 'two']) {
        const owners = log.events.filter(({ kind, id }) => kind === 'name' && id === name);
        expect(
          new Set(owners.map(({ section }) => (section as NameHolder).clusterId)).size,
        ).toBeLessThanOrEqual(1);
      }
    }),
  );
});
