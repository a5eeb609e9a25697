import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRandom } from '../../cli/simulate/random.ts';
import { type LifePlan, planLives } from './life-plan.ts';

const graceMs = 45_000;
const planOf = (seed: number, clusters = 400, real = 80, lastsMs = 600_000) =>
  planLives({ clusters, real, lastsMs, deaths: 0.02, changes: 0.01, graceMs }, createRandom(seed));

/** Each cluster through everything that is done to it. */
function brokenLives({ fleet: { actions, atFirst } }: LifePlan): string[] {
  const states = new Map<number, string>();
  const stateOf = (cluster: number) => states.get(cluster) ?? (cluster < atFirst ? 'in' : 'none');
  const before = { register: ['none'], cut: ['in'], back: ['away'], leave: ['in', 'away'] };
  const after = { register: 'in', cut: 'away', back: 'in', leave: 'gone' };
  const broken = actions.flatMap(({ verb, cluster }) => {
    const kind = verb as keyof typeof before;
    const isLegal = before[kind].includes(stateOf(cluster));
    if (!isLegal) return [`${cluster} is ${stateOf(cluster)} and is to ${verb}`];
    states.set(cluster, after[kind]);
    return [];
  });
  const away = [...states].filter(([, state]) => state === 'away').map(([cluster]) => `${cluster} is away`);
  return [...broken, ...away];
}

test('whatever happens to a cluster can happen to it, and nobody is away at the end', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 20, max: 500 }), (seed, clusters) => {
      const plan = planOf(seed, clusters, Math.ceil(clusters / 5));
      expect(brokenLives(plan)).toEqual([]);
      expect(planOf(seed, clusters, Math.ceil(clusters / 5))).toEqual(plan);
    }),
    { numRuns: 30 },
  );
});

test('as many come as leave, each of the kind of the one before', () => {
  const { fleet } = planOf(1);
  const of = (verb: string) => fleet.actions.filter((action) => action.verb === verb);
  expect(of('register')).toHaveLength(of('leave').length);
  expect(of('cut').length).toBeGreaterThan(50);
  expect(fleet.withAgent.size).toBeGreaterThan(10);
  expect(fleet.total).toBe(fleet.atFirst + of('register').length);
});

test('nothing is done to those about whom people decide', () => {
  const { fleet, steady } = planOf(1);
  expect(steady).toHaveLength(8);
  expect(fleet.actions.filter(({ cluster }) => steady.includes(cluster))).toEqual([]);
});
