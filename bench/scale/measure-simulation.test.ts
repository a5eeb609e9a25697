import { expect, test } from 'vitest';
import { readSpeed } from './measure-simulation.ts';

test('the speed is read where all seeds held', () => {
  expect(readSpeed('200 seeds held (from 1): 9 events\n214 seeds a core and second\n  crash  7\n')).toBe(214);
});

test('a seed that failed has no speed', () => {
  expect(
    readSpeed('seed 7 (safety) breaks: I1\nreplay: node tests/simulation/main.ts --seed 7\n'),
  ).toBeUndefined();
});
