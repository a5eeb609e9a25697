import type { ErrorCode } from '@rollcall/shared/errors';
import { draft, type Identity, tokenDeclared, type TokenDeclaration } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDecision, aDeclaration, anIdentity } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';
import { attemptOf, tokenId, tokenKey } from '../tests/token-holders.ts';
import { type GatheredJoin, openCase } from './join-case.ts';
import { joinRules, refuseJoin } from './join-rules.ts';

const nowMs = 1_700_000_000_000;
const agentKey = 'KEY-one';

/** A join that nothing is wrong with. */
function aJoin(): GatheredJoin {
  const log = new MemoryLog();
  const token = log.read({ kind: 'token', id: tokenId });
  const section = aDeclaration({ publicKey: tokenKey, uses: 'unlimited' });
  log.append([draft(tokenDeclared, token, { reason: 'Declared', message: 'm', section })]);
  const attempt = { ...attemptOf('one', { agentKey }), signedAtMs: nowMs };
  const about = { clusterId: 'one', clusterName: 'one', tokenId, agentKey, nowMs };
  return { attempt, context: log.joinContext(about) };
}

type Spoil = (join: GatheredJoin) => GatheredJoin;

const inContext =
  (change: (context: GatheredJoin['context']) => Partial<GatheredJoin['context']>): Spoil =>
  ({ attempt, context }) => ({ attempt, context: { ...context, ...change(context) } });
const inCluster = (change: Partial<GatheredJoin['context']['cluster']>): Spoil =>
  inContext(({ cluster }) => ({ cluster: { ...cluster, ...change } }));
const inToken = (change: Partial<TokenDeclaration>): Spoil =>
  inContext(({ token }) => ({
    token: token?.declaration && { ...token, declaration: { ...token.declaration, ...change } },
  }));
const inBody =
  (change: Partial<GatheredJoin['attempt']['body']>): Spoil =>
  ({ attempt, context }) => ({ context, attempt: { ...attempt, body: { ...attempt.body, ...change } } });
const known = (change: Partial<Identity['request']>): Identity => {
  const identity = anIdentity({ clusterId: 'one', clusterName: 'one' });
  return { ...identity, request: { ...identity.request, ...change } };
};
const today = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ key: `U${at}`, atMs: nowMs, left: true }));

/** One line for each code of each rule, in their order. */
const lines: readonly { code: ErrorCode; spoil: Spoil }[] = [
  {
    code: 'CLUSTER_LEFT',
    spoil: inCluster({
      decision: aDecision({ revokedKeys: [{ key: agentKey, atMs: nowMs, left: true }] }),
    }),
  },
  {
    code: 'TOKEN_UNKNOWN',
    spoil: ({ attempt, context }) => ({ context, attempt: { ...attempt, tokenProven: false } }),
  },
  { code: 'KEY_TAKEN', spoil: inContext(({ key }) => ({ key: { ...key, holder: 'other' } })) },
  { code: 'REPLAYED', spoil: inCluster({ identity: known({ key: agentKey, signedAtMs: nowMs + 1 }) }) },
  { code: 'TOKEN_EXPIRED', spoil: inToken({ expiresAtMs: nowMs }) },
  { code: 'TOKEN_UNKNOWN', spoil: inToken({ withdrawn: true }) },
  { code: 'TOKEN_OLD_EPOCH', spoil: inContext(() => ({ tokenIsVoid: true })) },
  { code: 'TOKEN_NAME_MISMATCH', spoil: inToken({ clientId: 'other' }) },
  { code: 'TOKEN_USED_UP', spoil: inToken({ uses: 0 }) },
  { code: 'HUB_BUSY', spoil: inContext(() => ({ maxUsesPerTokenPerDay: 0 })) },
  { code: 'CLUSTER_BANNED', spoil: inCluster({ decision: aDecision({ verdict: 'banned' }) }) },
  {
    code: 'CLUSTER_LEAVING',
    spoil: inCluster({ decision: aDecision({ verdict: 'leaving' }), identity: known({}) }),
  },
  { code: 'HUB_BUSY', spoil: inCluster({ decision: aDecision({ revokedKeys: today(24) }) }) },
  {
    code: 'PREDEFINED_BINDING',
    spoil: inCluster({
      identity: undefined,
      decision: aDecision({
        verdict: 'predefined',
        clusterName: 'one',
        predefined: { clusterType: 'Edge', mode: 'Pull' },
      }),
    }),
  },
  { code: 'REQUEST_OPEN', spoil: inCluster({ identity: known({ key: 'OTHER' }), decision: undefined }) },
  { code: 'CLUSTER_NAME_INVALID', spoil: inBody({ clusterName: 'a.b' }) },
  { code: 'CLUSTER_NAME_RESERVED', spoil: inBody({ clusterName: 'default' }) },
  { code: 'MEMBER_VERSION_UNREADABLE', spoil: inBody({ facts: { kubernetesVersion: 'new' } }) },
  { code: 'MEMBER_TOO_OLD', spoil: inBody({ facts: { kubernetesVersion: 'v1.27.0' } }) },
  { code: 'NAME_TAKEN', spoil: inContext(({ name }) => ({ name: { ...name, holder: 'other' } })) },
  ...(['HUB_FULL', 'TOO_MANY_OPEN_REQUESTS'] as const).map((code) => ({
    code,
    spoil: inContext(() => ({ refuseNew: { code, message: 'm' } })),
  })),
];

const codeOf = (join: GatheredJoin) => refuseJoin(openCase(join))?.code;

test('a join that nothing is wrong with is not refused', () => {
  expect(codeOf(aJoin())).toBeUndefined();
});

test('each rule has the codes that it can refuse with, and the table the order', () => {
  expect(lines.map(({ code }) => code)).toEqual(joinRules.flatMap(({ codes }) => codes));
});

test.each(lines.map(({ code, spoil }, at) => ({ name: `line ${at + 1}`, code, spoil, at })))(
  '$name → $code, alone and with all that comes after it wrong too',
  ({ code, spoil, at }) => {
    expect(codeOf(spoil(aJoin()))).toBe(code);
    // What two lines change both is as the earlier one wants it.
    const all = lines.slice(at).toReversed();
    let worst = aJoin();
    for (const one of all) worst = one.spoil(worst);
    expect(codeOf(worst)).toBe(code);
  },
);

test.each([
  { name: 'asked', state: 'requested' },
  { name: 'left', state: 'left' },
] as const)('who $name while a clock was a year ahead may ask once it is right', ({ state }) => {
  const thenMs = nowMs + 365 * 86_400_000;
  const identity = { ...known({ key: agentKey, signedAtMs: thenMs }), state };
  const lastOf = { registrar: { timeMs: thenMs } } as GatheredJoin['context']['cluster']['lastOf'];
  expect(codeOf(inCluster({ identity, lastOf })(aJoin()))).toBeUndefined();
});

test('of each code the rule that has it is the first that refuses', () => {
  const rows = joinRules.flatMap((rule) => rule.codes.map((code) => ({ rule, code })));
  for (const [at, { spoil }] of lines.entries()) {
    const join = openCase(spoil(aJoin()));
    expect(joinRules.find(({ refuse }) => refuse(join) !== undefined)).toBe(rows[at]?.rule);
  }
});
