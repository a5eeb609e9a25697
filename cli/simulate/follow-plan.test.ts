import { expect, test } from 'vitest';
import { followPlan } from './follow-plan.ts';
import type { Action } from './clusters/fleet-plan.ts';

const action = (verb: Action['verb'], atMs = 0): Action => ({ atMs, verb, cluster: 0 });

/** Follows a plan for one cluster, whose returns are heard when the test says so. */
function follow(actions: readonly Action[]) {
  const ending = new AbortController();
  const returns: PromiseWithResolvers<void>[] = [];
  const asked = Promise.withResolvers<void>();
  const done = followPlan(
    { actions, total: 1, atFirst: 1, groups: ['all'], withAgent: new Set(), groupOf: [0] },
    {
      idOf: () => 'sim-1',
      async do({ verb }: Action) {
        if (verb !== 'back') return;
        const heard = Promise.withResolvers<void>();
        if (returns.push(heard) === actions.filter((one) => one.verb === 'back').length) asked.resolve();
        await heard.promise;
      },
      unregister: async () => undefined,
    },
    { beganAtMs: Date.now(), endMs: 60_000, view: { say: () => undefined }, signal: ending.signal },
  );
  return {
    returns,
    allAsked: asked.promise,
    async end() {
      ending.abort();
      return done;
    },
  };
}

test('who is let back is away until it is heard: an agent takes its time to connect', async () => {
  const run = follow([action('cut'), action('back')]);
  await run.allAsked;
  const beforeMs = Date.now();
  run.returns[0]?.resolve();
  await run.returns[0]?.promise;
  const [absence] = await run.end();
  expect(absence).toMatchObject({ clusterId: 'sim-1' });
  expect(absence?.untilMs).toBeGreaterThanOrEqual(beforeMs);
});

test('who is never heard again is away until the end', async () => {
  const run = follow([action('cut'), action('back')]);
  await run.allAsked;
  expect(await run.end()).toEqual([{ clusterId: 'sim-1', fromMs: expect.any(Number) }]);
});

test('who is away again before it was heard is away since the first time', async () => {
  const run = follow([action('cut'), action('back'), action('cut'), action('back')]);
  await run.allAsked;
  for (const heard of run.returns) heard.resolve();
  await Promise.all(run.returns.map(({ promise }) => promise));
  const absences = await run.end();
  expect(absences).toEqual([{ clusterId: 'sim-1', fromMs: expect.any(Number), untilMs: expect.any(Number) }]);
});
