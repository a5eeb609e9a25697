import { RollcallError } from '@rollcall/shared/errors';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSettingsTeller } from './tell-settings.ts';

const logger = { warn: () => undefined };
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('who was just away when it was told is told once more, after the last of several changes', async () => {
  const told: string[] = [];
  const teller = createSettingsTeller(async (id) => void told.push(id), { logger });
  await teller.tell('one');
  await vi.advanceTimersByTimeAsync(30_000);
  await teller.tell('two');
  await teller.tell('one');
  expect(told.splice(0)).toEqual(['one', 'two', 'one']);
  await vi.advanceTimersByTimeAsync(64_000);
  expect(told).toEqual([]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(told.splice(0)).toEqual(['two', 'one']);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(told).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('while the bus is away it is tried again; what cannot be read is not; and nothing goes on after the end', async () => {
  const told: string[] = [];
  let isAway = false;
  const teller = createSettingsTeller(
    async (id) => {
      told.push(id);
      if (isAway && id === 'unreadable') throw new TypeError('not readable');
      if (isAway) throw new RollcallError('BUS_UNREACHABLE', 'the bus is away');
    },
    { logger },
  );
  await teller.tell('unreadable');
  await teller.tell('one');
  isAway = true;
  await vi.advanceTimersByTimeAsync(70_000);
  isAway = false;
  await vi.advanceTimersByTimeAsync(70_000);
  expect(told.splice(0)).toEqual(['unreadable', 'one', 'unreadable', 'one', 'one']);
  await teller.tell('one');
  teller.stop();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(told).toEqual(['one']);
});
