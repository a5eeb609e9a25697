import { expect, test } from 'vitest';
import { wantedReturnMs } from '../../services/heartbeat/interval/reconnect-window.ts';
import { findLimits } from './find-limits.ts';
import { parseModelFlags } from './model-flags.ts';
import { numbersOf } from './numbers/numbers.ts';
import { loseConnections } from './returns.ts';
import { runScenario } from './run-scenario.ts';
import { scenarioNames } from './scenarios.ts';
import { createWorld } from './world.ts';

const small = { clusters: 2000, seed: 7, followed: 500 };

test.each(scenarioNames)('%s: the same seed and numbers give the same result', (scenario) => {
  const run = () => runScenario(scenario, { ...small, numbers: numbersOf('usual') });
  expect(run()).toEqual(run());
});

test('whoever loses its hub is back within the time that the hub has said, each once', () => {
  const numbers = numbersOf('usual');
  const clusters = 5000;
  const world = createWorld({ numbers, clusters, seed: 1 });
  const returns = loseConnections(world, { agents: clusters, downServers: 3, backAtMs: 0 });
  world.timeline.run();
  const withinMs = wantedReturnMs(undefined, { clusters, ...numbers }) ?? 0;
  expect([returns.backMs.count(), returns.missing(), returns.late()]).toEqual([clusters, 0, 0]);
  expect(returns.backMs.mostMs()).toBeLessThan(withinMs + 1000);
});

test('a fleet too large for its servers’ memory is found', () => {
  // 75 KB and 7.5 KB a cluster on one server of 1 GB: (0.85 GB - 25 MB) / 82.5 KB are 10,000 clusters.
  const numbers = numbersOf('usual', { natsServers: 1, natsGb: 1 });
  const [first] = findLimits({ numbers, seed: 1, from: 8000, to: 16_000, followed: 100 });
  expect(first?.place).toBe('memory of a NATS server that keeps streams');
  expect(first?.clusters).toBeGreaterThanOrEqual(10_000);
  expect(first?.clusters).toBeLessThan(11_000);
});

test('a reader’s numbers count, and a name that there is not is refused', () => {
  const { changed = {} } = parseModelFlags(['--set', 'apiWriteMs=2', '--set', 'natsServers=20']) ?? {};
  expect(numbersOf('wide', changed)).toMatchObject({ apiWriteMs: 2, natsServers: 20, apiReadMs: 0.87 });
  expect(() => numbersOf('wide', { apiWritesMs: 2 })).toThrow('apiWritesMs');
});
