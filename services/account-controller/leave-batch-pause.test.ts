import { expect, test } from 'vitest';
import { pauseAfterMs } from './leave-batch-pause.ts';

test.each([
  { tookMs: 20, pauseMs: 1000 },
  { tookMs: 450, pauseMs: 1800 },
  { tookMs: 5000, pauseMs: 10_000 },
])('after a batch of $tookMs ms the next one waits for $pauseMs ms', ({ tookMs, pauseMs }) => {
  expect(pauseAfterMs(tookMs)).toBe(pauseMs);
});
