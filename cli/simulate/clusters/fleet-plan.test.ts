import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planFleet } from './fleet-plan.ts';
import { createRandom } from '../random.ts';
import { parseScenario } from '../scenario-file.ts';

function aPlan(steps: string, { clusters = 100, seed = 1, groups = '{ a: 40%, b: 60% }' } = {}) {
  const found = parseScenario(`description: x\nend: 60s\ngroups: ${groups}\nsteps:\n${steps}`);
  if (!('scenario' in found)) throw new Error(JSON.stringify(found.problems));
  return planFleet(found.scenario, clusters, createRandom(seed));
}
const count = (plan: ReturnType<typeof aPlan>, verb: string) =>
  plan.actions.filter((action) => action.verb === verb).length;

test('an outage cuts the whole group, and all of it comes back, each when its back-off is over', () => {
  const plan = aPlan('  - { at: 3s, do: outage, group: a, for: 20s }');
  const cut = plan.actions.filter(({ verb }) => verb === 'cut');
  expect(cut.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 40 }, () => 3000));
  expect(cut.every(({ cluster }) => plan.groups[plan.groupOf[cluster] ?? 9] === 'a')).toBe(true);
  const back = plan.actions.filter(({ verb }) => verb === 'back').map(({ atMs }) => atMs);
  expect(back).toHaveLength(40);
  expect(Math.min(...back)).toBeGreaterThanOrEqual(23_000);
  expect(Math.max(...back)).toBeLessThanOrEqual(43_000);
  expect(new Set(back).size).toBeGreaterThan(30);
});

test('a share is a share of the group, and a restart is spread over its time', () => {
  const plan = aPlan('  - { at: 1s, do: restart, group: b, share: 50%, over: 30s, for: 3s }');
  const stops = plan.actions.filter(({ verb }) => verb === 'goodbye').map(({ atMs }) => atMs);
  expect(stops).toEqual(Array.from({ length: 30 }, (_, index) => 1000 + index * 1000));
});

test('who flaps does so in turns of its own', () => {
  const plan = aPlan('  - { at: 1s, do: flap, share: 10%, times: 2, every: 20s, for: 12s }');
  expect([count(plan, 'mute'), count(plan, 'back')]).toEqual([20, 20]);
  expect(new Set(plan.actions.map(({ atMs }) => atMs)).size).toBe(40);
});

test('growth and churn bring new clusters, in the group of those they follow', () => {
  const plan = aPlan(
    '  - { at: 0s, do: grow, group: a, over: 10s }\n  - { at: 0s, do: churn, share: 10%, over: 10s }',
  );
  expect({ total: plan.total, register: count(plan, 'register'), leave: count(plan, 'leave') }).toEqual({
    total: 150,
    register: 50,
    leave: 10,
  });
  expect(plan.groupOf.slice(100, 140).every((group) => group === 0)).toBe(true);
});

test('who leaves does so at once where nothing else is said, and growth may bring agents of their own', () => {
  const plan = aPlan(
    '  - { at: 5s, do: leave, share: 30% }\n  - { at: 5s, do: grow, group: a, share: 10%, over: 4s, agents: own }',
  );
  const leaving = plan.actions.filter(({ verb }) => verb === 'leave');
  expect(leaving.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 30 }, () => 5000));
  expect([...plan.withAgent]).toEqual([100, 101, 102, 103]);
});

test('what would come after the end is left out', () => {
  expect(count(aPlan('  - { at: 50s, do: silence, for: 1h }'), 'back')).toBe(0);
});

test('whatever the size and the seed: the same seed is the same plan, in order, of clusters that exist', () => {
  const steps =
    '  - { at: 1s, do: outage, share: 33%, for: 5s }\n  - { at: 2s, do: churn, share: 7%, over: 9s }';
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), (clusters, seed) => {
      const plan = aPlan(steps, { clusters, seed });
      expect(aPlan(steps, { clusters, seed })).toEqual(plan);
      expect(plan.groupOf).toHaveLength(plan.total);
      expect(plan.actions.every(({ cluster }) => cluster < plan.total)).toBe(true);
      expect(plan.actions.map(({ atMs }) => atMs).toSorted((a, b) => a - b)).toEqual(
        plan.actions.map(({ atMs }) => atMs),
      );
    }),
    { numRuns: 50 },
  );
});
