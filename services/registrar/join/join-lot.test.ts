import { keyAggregate, type TokenUses, tokenUsed } from '@rollcall/shared/events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeLot, type LotJoin } from './join-lot.ts';
import { type JoinAsk, judgeJoin } from './join-request.ts';
import type { MemoryLog } from '../tests/memory-log.ts';
import { askOf, logWithToken, tokenId } from '../tests/token-holders.ts';

const nowMs = 1_700_000_000_000;
const anAsk = (number: number) => askOf(`cluster-${number}`);

function contextOf(log: MemoryLog, { agentKey, body: { clusterId, clusterName } }: JoinAsk) {
  return log.joinContext({ clusterId, clusterName, tokenId, agentKey, nowMs });
}

const aJoin = (log: MemoryLog, ask: JoinAsk): LotJoin => ({
  ask,
  context: contextOf(log, ask),
  trace: { correlation: ask.id },
});

const usesOf = (log: MemoryLog) =>
  log.read({ kind: 'token', id: tokenId }).lastOf.registrar?.section as TokenUses | undefined;

test('a lot is one event of each aggregate, each with the trace of its own request', () => {
  const log = logWithToken(5);
  const asks = [anAsk(1), anAsk(2), anAsk(3)];
  const { drafts } = judgeLot(asks.map((ask) => aJoin(log, ask)));
  const about = drafts.map(({ definition, aggregate }) => `${definition.type} ${aggregate.id}`);
  expect(new Set(about).size).toBe(10);
  expect(drafts.filter(({ definition }) => definition === tokenUsed)).toHaveLength(1);
  for (const { aggregate, trace } of drafts.filter(({ definition }) => definition !== tokenUsed)) {
    const isOf = ({ agentKey, body }: JoinAsk) =>
      [body.clusterId, keyAggregate(agentKey).id].includes(aggregate.id);
    expect(trace?.correlation).toBe(asks.find(isOf)?.id);
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
  log.append(judgeLot([aJoin(log, anAsk(0))]).drafts);
  const joins = Array.from({ length: 9 }, (_, number) => aJoin(log, anAsk(number + 1)));
  const lot = joins.map((join) => ({ ...join, context: { ...join.context, refusalsLeft: 3 } }));
  const { drafts, verdicts } = judgeLot(lot);
  expect(new Set(verdicts.map(({ refusal }) => refusal?.code))).toEqual(new Set(['TOKEN_USED_UP']));
  expect(drafts.map(({ definition }) => definition.type)).toEqual(['refused', 'refused', 'refused']);
});

test('one alone says nothing of others', () => {
  const { drafts } = judgeLot([aJoin(logWithToken(5), anAsk(1))]);
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
        for (const ask of before.map((number) => anAsk(number)))
          log.append(judgeLot([aJoin(log, ask)]).drafts);

      const asks = now.map((number) => anAsk(number));
      const { verdicts, drafts } = judgeLot(asks.map((ask) => aJoin(together, ask)));
      expect(together.append(drafts)).toBe(true);
      const alone = asks.map((ask) => {
        const verdict = judgeJoin(ask, contextOf(single, ask));
        single.append(verdict.drafts);
        return verdict;
      });
      expect(verdicts.map(({ refusal }) => refusal?.code)).toEqual(alone.map(({ refusal }) => refusal?.code));
      expect(usesOf(together)?.used).toBe(usesOf(single)?.used);
      for (const { body } of asks)
        expect(together.cluster(body.clusterId).identity).toEqual(single.cluster(body.clusterId).identity);
    }),
  );
});
