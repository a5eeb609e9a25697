import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTarpit } from './tarpit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a reply comes after two seconds, once', () => {
  const answer = vi.fn<() => void>();
  const late = createTarpit({ dropped: () => undefined });
  late.push(answer);
  vi.advanceTimersByTime(1999);
  expect(answer).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  late.drain();
  expect(answer).toHaveBeenCalledOnce();
});

test('more than five thousand are dropped, and a drain answers those that wait', () => {
  const [answer, dropped] = [vi.fn<() => void>(), vi.fn<() => void>()];
  const late = createTarpit({ dropped });
  for (let at = 0; at < 5001; at++) late.push(answer);
  expect(dropped).toHaveBeenCalledOnce();
  late.drain();
  vi.advanceTimersByTime(5000);
  expect(answer).toHaveBeenCalledTimes(5000);
});
