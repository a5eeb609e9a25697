import { expect, test } from 'vitest';
import type { EventDraft } from '@rollcall/shared/events';
import { join, logOf, startMs } from '../tests/past-history.ts';
import { type PastRequest, replayRequests } from './past-requests.ts';
import { tryPolicies } from './try-policy.ts';

/** Requests 0 to `decided` are decided at once; one more waits. */
function historyOf(decided: number) {
  const drafts = Array.from({ length: decided }, (_, index) => join(index)).flat();
  return logOf([...drafts, join(decided)[0] as EventDraft]);
}

async function replay(decided: number, readsFleet: boolean) {
  const asked: PastRequest[][] = [];
  await replayRequests({
    log: historyOf(decided),
    fromMs: startMs,
    readsFleet,
    policyNames: ['new'],
    onSkip: (error) => expect.fail(error.message),
    async judge(all) {
      asked.push([...all]);
      return all.map(() => undefined);
    },
  });
  return asked;
}

test('all requests are judged, in order, the last and undecided one too', async () => {
  const asked = await replay(300, false);
  expect(asked.flat().map(({ identity }) => identity.clusterId)).toEqual(
    Array.from({ length: 301 }, (_, index) => `cluster-${index}`),
  );
  expect(asked.flat().map(({ decision }) => decision !== undefined)).toEqual([
    ...Array.from({ length: 300 }, () => true),
    false,
  ]);
  expect(asked.length).toBeLessThan(30);
});

test('where policies count the fleet, each is judged once what came before it is counted', async () => {
  const asked = await replay(5, true);
  expect(asked.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(asked.flat().map(({ input }) => input.fleet.clusters)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(asked.at(-1)?.[0]?.input.fleet.byPolicyToday).toEqual({ default: 5, new: 0 });
});

test('the quota of a policy that was not there counts what it would have let in', async () => {
  const when = 'fleet.byPolicyToday["zeta"] < 3';
  const declaration = {
    name: 'zeta',
    uid: '',
    generation: 1,
    rules: [{ name: 'r', when, effect: 'Approve' as const }],
    withdrawn: false,
  };
  const policies = [{ declaration, version: '1' }];
  const trial = await tryPolicies({ log: historyOf(6), policies, fromMs: startMs });
  expect(trial).toMatchObject({ judged: 7, counts: { 'approved → held': 3, 'undecided → held': 1 } });
});
