import { expect, test } from 'vitest';
import { planStrikes } from './strike-plan.ts';

const minuteMs = 60_000;

test('each target once in every ten minutes, one after the other', () => {
  const targets = ['a', 'b'];
  const plan = planStrikes(targets, { lastsMs: 20 * minuteMs, everyMs: 10 * minuteMs });
  expect(plan).toEqual([
    { atMs: 2.5 * minuteMs, target: 'a' },
    { atMs: 7.5 * minuteMs, target: 'b' },
    { atMs: 12.5 * minuteMs, target: 'a' },
    { atMs: 17.5 * minuteMs, target: 'b' },
  ]);
});

test('a short run has each once, and time to come to rest', () => {
  const plan = planStrikes(['a', 'b'], { lastsMs: minuteMs, everyMs: 10 * minuteMs });
  expect(plan.map(({ atMs }) => atMs)).toEqual([12_000, 36_000]);
});
