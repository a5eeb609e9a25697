import { expect, test } from 'vitest';
import { createResponseBudget } from './response-budget.ts';

test('what is spent comes back when the while is over, and not before', () => {
  let nowMs = 0;
  const spend = createResponseBudget({ maxBytes: 10, windowMs: 1000, nowMs: () => nowMs });
  expect(spend(10)).toBe(true);
  expect(spend(1)).toBe(false);
  nowMs = 999;
  expect(spend(1)).toBe(false);
  nowMs = 1000;
  expect(spend(10)).toBe(true);
  expect(spend(1)).toBe(false);
});
