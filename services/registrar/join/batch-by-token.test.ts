import { RollcallError } from '@rollcall/shared/errors';
import type { EventDraft } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import type { JoinAttempt } from './join-attempt.ts';
import { createJoinBatcher } from './batch-by-token.ts';
import { attemptOf, logWithToken, tokenId } from '../tests/token-holders.ts';

const nowMs = 1_700_000_000_000;

/** Turns over a stream in memory; every append is kept as one batch. */
function aWorld({ unreadable }: { unreadable?: string } = {}) {
  const memory = logWithToken('unlimited');
  const batches: (readonly EventDraft[])[] = [];
  let conflicts = 0;
  const log = {
    async append(drafts: readonly EventDraft[]) {
      await Promise.resolve();
      if (conflicts-- > 0) throw new RollcallError('APPEND_CONFLICT', 'somebody was faster');
      expect(memory.append(drafts)).toBe(true);
      batches.push(drafts);
    },
  };
  const batcher = createJoinBatcher({
    log,
    async gather(attempts) {
      if (attempts.some(({ body }) => body.clusterId === unreadable))
        throw new RollcallError('EVENT_VERSION_UNKNOWN', 'of a newer version');
      return attempts.map((attempt) => {
        const { body, agentKey } = attempt;
        return { attempt, context: memory.joinContext({ ...body, tokenId, agentKey, nowMs }) };
      });
    },
  });
  return {
    join: (attempt: JoinAttempt) => batcher.judge(attempt),
    batches,
    memory,
    conflict: (count: number) => (conflicts = count),
  };
}

const sizes = (batches: readonly (readonly EventDraft[])[]) =>
  batches.map((batch) => batch.filter(({ definition }) => definition.type === 'requested').length);

test('who comes while one is written is written with all others that came, in one append', async () => {
  const { join, batches, memory } = aWorld();
  const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((id) => join(attemptOf(id))));
  expect(outcomes.every(({ verdict }) => verdict.refusal === undefined)).toBe(true);
  expect(sizes(batches)).toEqual([1, 3]);
  expect(memory.read({ kind: 'token', id: tokenId }).lastOf.registrar?.section).toMatchObject({ used: 4 });
});

test('two about one cluster, or for one name, are judged in their order and never together', async () => {
  const { join, batches } = aWorld();
  const attempts = [
    attemptOf('first'),
    attemptOf('a'),
    attemptOf('a', { agentKey: 'OTHER' }),
    attemptOf('b', { clusterName: 'a' }),
    attemptOf('c'),
  ];
  const outcomes = await Promise.all(attempts.map(join));
  expect(outcomes.map(({ verdict }) => verdict.refusal?.code)).toEqual([
    undefined,
    undefined,
    'REQUEST_OPEN',
    'NAME_TAKEN',
    undefined,
  ]);
  expect(sizes(batches).slice(0, 2)).toEqual([1, 2]);
});

test('a lost race is judged again from what is there then', async () => {
  const { join, batches, conflict } = aWorld();
  conflict(3);
  await Promise.all(['a', 'b', 'c'].map((id) => join(attemptOf(id))));
  expect(sizes(batches)).toEqual([1, 2]);
});

test('what cannot be read of one is no reason to refuse the others', async () => {
  const { join } = aWorld({ unreadable: 'newer' });
  const outcomes = await Promise.allSettled(['a', 'b', 'newer', 'c'].map((id) => join(attemptOf(id))));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
});
