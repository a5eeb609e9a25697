import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { workInSlices } from './work-in-slices.ts';

/** Every look at the clock is that much later. */
function aClock(stepMs: number): void {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += stepMs));
}
/** Each 16 ms; none where nobody looks. */
const frames = { areSeen: true };
beforeEach(() => {
  vi.useFakeTimers();
  frames.areSeen = true;
  vi.stubGlobal('requestAnimationFrame', (draw: () => void) =>
    frames.areSeen ? setTimeout(draw, 16) : undefined,
  );
  vi.stubGlobal('cancelAnimationFrame', (timer: ReturnType<typeof setTimeout>) => clearTimeout(timer));
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function* twentySteps() {
  for (let step = 0; step < 20; step++) yield;
  return 'made';
}

test('what is short is done before anybody goes on', () => {
  aClock(0.1);
  const done = vi.fn<(value: string) => void>();
  workInSlices(twentySteps(), done);
  expect(done).toHaveBeenCalledWith('made');
  expect(vi.getTimerCount()).toBe(0);
});

test('what is long is done in slices', () => {
  aClock(5);
  const done = vi.fn<(value: string) => void>();
  workInSlices(twentySteps(), done);
  expect(done).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(done).toHaveBeenCalledExactlyOnceWith('made');
});

test('between two slices a frame is drawn, and none where nobody looks', () => {
  aClock(5);
  const done = vi.fn<(value: string) => void>();
  const stop = workInSlices(twentySteps(), done);
  vi.advanceTimersByTime(5 * 16);
  expect(done).not.toHaveBeenCalled();
  stop();
  expect(vi.getTimerCount()).toBe(0);
  frames.areSeen = false;
  workInSlices(twentySteps(), done);
  vi.runAllTimers();
  expect(done).toHaveBeenCalledExactlyOnceWith('made');
});

test.each([1, 3, 5])('what is stopped after slice %i is never done', (slices) => {
  aClock(5);
  const done = vi.fn<(value: string) => void>();
  const stop = workInSlices(twentySteps(), done);
  for (let slice = 1; slice < slices; slice++) vi.advanceTimersToNextTimer();
  stop();
  vi.runAllTimers();
  expect(done).not.toHaveBeenCalled();
});
