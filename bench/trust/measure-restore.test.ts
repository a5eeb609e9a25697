import { expect, test } from 'vitest';
import { readServingMs } from './measure-restore.ts';

const said = (kind: string) =>
  `a hub of 100 clusters (601 events) restored and serving: 7.5 s (target ≤ 60 s: met); its agent hears "${kind}"; 3 clusters shown\n`;

test('the time is read where the agent is a member again', () => {
  expect(readServingMs(said('admitted'))).toBe(7500);
});

test('a hub that does not know its agent does not serve', () => {
  expect(readServingMs(said('refused'))).toBeUndefined();
});
