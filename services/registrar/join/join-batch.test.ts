import { keyAggregate, type TokenUses, tokenUsed } from '@rollcall/shared/events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JoinAttempt } from './join-attempt.ts';
import { judgeBatch } from './join-batch.ts';
import type { GatheredJoin } from './join-case.ts';
import { judgeJoin } from './judge-join.ts';
import type { MemoryLog } from '../tests/memory-log.ts';
import { attemptOf, logWithToken, tokenId } from '../tests/token-holders.ts';

const nowMs = 1_700_000_000_000;
const anAttempt = (number: number) => attemptOf(`cluster-${number}`);

function contextOf(log: MemoryLog, { agentKey, body: { clusterId, clusterName } }: JoinAttempt) {
  return log.joinContext({ clusterId, clusterName, tokenId, agentKey, nowMs });
}

const aJoin = (log: MemoryLog, attempt: JoinAttempt): GatheredJoin => ({
  attempt,
  context: contextOf(log, attempt),
});

const usesOf = (log: MemoryLog) =>
  log.read({ kind: 'token', id: tokenId }).lastOf.registrar?.section as TokenUses | undefined;

test('a batch is one event of each aggregate, each with the trace of its own request', () => {
  const log = logWithToken(5);
  const attempts = [anAttempt(1), anAttempt(2), anAttempt(3)];
  const { drafts } = judgeBatch(attempts.map((attempt) => aJoin(log, attempt)));
  const about = drafts.map(({ definition, aggregate }) => `${definition.type} ${aggregate.id}`);
  expect(new Set(about).size).toBe(10);
  expect(drafts.filter(({ definition }) => definition === tokenUsed)).toHaveLength(1);
  for (const { aggregate, trace } of drafts.filter(({ definition }) => definition !== tokenUsed)) {
    const isOf = ({ agentKey, body }: JoinAttempt) =>
      [body.clusterId, keyAggregate(agentKey).id].includes(aggregate.id);
    expect(trace?.correlation).toBe(attempts.find(isOf)?.id);
  }
  expect(log.append(drafts)).toBe(true);
  expect(usesOf(log)).toMatchObject({
    used: 3,
    lastUsedBy: 'cluster-3',
    usedBy: ['cluster-1', 'cluster-2', 'cluster-3'],
  });
});

test('of many that are refused together no more are kept than may be', () => {
  const log = logWithToken(1);
  log.append(judgeBatch([aJoin(log, anAttempt(0))]).drafts);
  const joins = Array.from({ length: 9 }, (_, number) => aJoin(log, anAttempt(number + 1)));
  const batch = joins.map((join) => ({ ...join, context: { ...join.context, refusalsLeft: 3 } }));
  const { drafts, joins: judged } = judgeBatch(batch);
  expect(new Set(judged.map(({ verdict }) => verdict.refusal?.code))).toEqual(new Set(['TOKEN_USED_UP']));
  expect(drafts.map(({ definition }) => definition.type)).toEqual(['refused', 'refused', 'refused']);
});

test('one alone says nothing of others', () => {
  const { drafts } = judgeBatch([aJoin(logWithToken(5), anAttempt(1))]);
  expect(drafts.map(({ definition }) => definition.type)).toEqual(['requested', 'taken', 'taken', 'used']);
  expect(drafts[3]?.section).toMatchObject({ used: 1, lastUsedBy: 'cluster-1' });
  expect(drafts[3]?.section).not.toHaveProperty('usedBy');
});

test('judged together or one after another: the same are let in, for as many uses', () => {
  const uses = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constant('unlimited' as const));
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 8 });
  fc.assert(
    fc.property(uses, numbers, numbers, (allowed, before, now) => {
      const [together, single] = [logWithToken(allowed), logWithToken(allowed)];
      for (const log of [together, single])
        for (const attempt of before.map((number) => anAttempt(number)))
          log.append(judgeBatch([aJoin(log, attempt)]).drafts);

      const attempts = now.map((number) => anAttempt(number));
      const { joins, drafts } = judgeBatch(attempts.map((attempt) => aJoin(together, attempt)));
      expect(together.append(drafts)).toBe(true);
      const alone = attempts.map((attempt) => {
        const verdict = judgeJoin(attempt, contextOf(single, attempt));
        single.append(verdict.drafts);
        return verdict;
      });
      expect(joins.map(({ verdict }) => verdict.refusal?.code)).toEqual(
        alone.map(({ refusal }) => refusal?.code),
      );
      expect(usesOf(together)?.used).toBe(usesOf(single)?.used);
      for (const { body } of attempts)
        expect(together.cluster(body.clusterId).identity).toEqual(single.cluster(body.clusterId).identity);
    }),
  );
});
