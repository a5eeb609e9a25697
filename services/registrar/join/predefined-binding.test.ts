import { clusterIdOf, draft, nameReserved, predefined, tokenDeclared } from '@rollcall/shared/events';
import type { TokenDeclaration } from '@rollcall/shared/events';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { aDecision, aDeclaration } from '../../../tests/harness/events.ts';
import { judgeJoin } from './judge-join.ts';
import { MemoryLog } from '../tests/memory-log.ts';
import { asAttempt } from '../tests/token-holders.ts';

const nowMs = 1_700_000_000_000;
const clientId = 'Shop 7';
const clusterId = clusterIdOf(clientId);
const trace = { reason: 'R', message: 'm' };
const tokenKey = createNkey('user').publicKey;

/** The cluster "shop" stands there before its agent comes; and there is one token. */
function aHub(token: Partial<TokenDeclaration>): MemoryLog {
  const log = new MemoryLog();
  const section = aDecision({
    verdict: 'predefined',
    clusterName: 'shop',
    predefined: { clientId, clusterType: 'Edge', mode: 'Pull' },
  });
  const taken = { name: 'shop', clusterId, free: false };
  log.append([
    draft(predefined, log.read({ kind: 'cluster', id: clusterId }), { ...trace, section }),
    draft(nameReserved, log.read({ kind: 'name', id: 'shop' }), { ...trace, section: taken }),
    draft(tokenDeclared, log.read({ kind: 'token', id: tokenIdOf(tokenKey) }), {
      ...trace,
      section: aDeclaration({ publicKey: tokenKey, ...token }),
    }),
  ]);
  return log;
}

function join(log: MemoryLog, asks: { clusterId?: string; clusterName: string }) {
  const about = { clusterId, ...asks };
  const body = {
    ...about,
    ...(about.clusterId === clusterId ? { clientId } : {}),
    clusterType: 'Standard' as const,
    mode: 'Pull' as const,
    tokenKey,
    labels: {},
    facts: { kubernetesVersion: 'v1.36.3' },
  };
  const agentKey = createNkey('user').publicKey;
  const context = log.joinContext({ ...about, tokenId: tokenIdOf(tokenKey), agentKey, nowMs });
  const attempt = asAttempt({ id: 'ask-00000001', agentKey, tokenProven: true, body });
  const verdict = judgeJoin(attempt, context);
  log.append(verdict.drafts);
  return verdict;
}

test.each([
  { name: 'a token for its client id', token: { clientId }, want: undefined },
  { name: 'a token for its name', token: { clusterName: 'shop' }, want: undefined },
  {
    name: 'a token that fits its name by a wildcard',
    token: { clusterName: 'sho*' },
    want: 'PREDEFINED_BINDING',
  },
  { name: 'a token for anybody', token: {}, want: 'PREDEFINED_BINDING' },
  { name: 'a token for another client id', token: { clientId: 'other' }, want: 'TOKEN_NAME_MISMATCH' },
])('claiming a predefined cluster with $name → $want', ({ token, want }) => {
  const log = aHub(token);
  expect(join(log, { clusterName: 'shop' }).refusal?.code).toBe(want);
});

test('it keeps the name and the kind that it was given, whatever its agent says', () => {
  const log = aHub({ clientId });
  expect(join(log, { clusterName: 'cluster-5b1c9a52' }).refusal).toBeUndefined();
  expect(log.cluster(clusterId).identity).toMatchObject({
    state: 'requested',
    clusterName: 'shop',
    clusterType: 'Edge',
  });
});

test('its name is not for another cluster, which hears how the right one comes in', () => {
  const log = aHub({ clientId });
  const refusal = {
    code: 'NAME_TAKEN',
    message: expect.stringContaining('reserved for a predefined cluster'),
  };
  const forAnybody = aHub({});
  expect(join(forAnybody, { clusterId: 'other', clusterName: 'shop' })).toMatchObject({ refusal });
  expect(join(log, { clusterName: 'shop' }).refusal).toBeUndefined();
});

test('a refused claim is kept where people look, and the right one comes through afterwards', () => {
  const log = aHub({ uses: 5 });
  join(log, { clusterName: 'shop' });
  expect(log.cluster(clusterId)).toMatchObject({
    identity: { state: 'refused', refusal: { code: 'PREDEFINED_BINDING' } },
    decision: { verdict: 'predefined' },
  });
  const token = log.read({ kind: 'token', id: tokenIdOf(tokenKey) });
  const section = aDeclaration({ publicKey: tokenKey, clientId });
  log.append([draft(tokenDeclared, token, { ...trace, section })]);
  expect(join(log, { clusterName: 'shop' }).refusal).toBeUndefined();
});
