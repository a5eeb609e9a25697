import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { factsAsHeard } from './facts-after-hint.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that has stored what it was given, and a projection that is made again when it is told to. */
function aProjection() {
  let stored = 0;
  const shown: number[] = [];
  const facts = factsAsHeard(
    { get: async () => (stored === 0 ? undefined : { facts: {}, sequence: stored, epoch: 1 }) },
    { nowMs: Date.now },
  );
  facts.lookAgainBy(() => void look());
  async function look(): Promise<void> {
    shown.push((await facts.get('c-1'))?.sequence ?? 0);
  }
  /** As the projector does when it hears the hint. */
  async function hear(sequence: number): Promise<void> {
    facts.heard('c-1', sequence);
    await look();
  }
  return { shown, look, hear, facts, store: (sequence: number) => void (stored = sequence) };
}

test.each([
  { name: 'is there already', afterMs: 0, looks: 1 },
  { name: 'comes a little later', afterMs: 150, looks: 3 },
  { name: 'comes after a minute', afterMs: 60_000, looks: 11 },
])('what was heard of and $name is shown', async ({ afterMs, looks }) => {
  const { shown, hear, store } = aProjection();
  store(3);
  setTimeout(() => store(7), afterMs);
  if (afterMs === 0) store(7);
  await hear(7);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(shown.at(-1)).toBe(7);
  expect(shown).toHaveLength(looks);
});

test('what is newer than what was heard of is as good, and an older hint asks for nothing', async () => {
  const { shown, hear, store } = aProjection();
  store(9);
  await hear(7);
  await hear(8);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(shown).toEqual([9, 9]);
});

test('facts that never come are given up, and a projector that stops looks no more', async () => {
  const one = aProjection();
  await one.hear(7);
  await vi.advanceTimersByTimeAsync(3_600_000);
  const looks = one.shown.length;
  expect(looks).toBeLessThan(40);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(one.shown).toHaveLength(looks);

  const other = aProjection();
  await other.hear(7);
  other.facts.stop();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(other.shown).toEqual([0]);
});
