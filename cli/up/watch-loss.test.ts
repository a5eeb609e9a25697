import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchLoss } from './watch-loss.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Of two services; the projector is not ready until it has compared. */
function aHub() {
  const told: (string | undefined)[] = [];
  const says: Record<string, string | undefined> = { registrar: undefined, projector: 'starting' };
  const services = (['registrar', 'projector'] as const).map((name) => ({
    name,
    notReady: () => says[name],
  }));
  const watch = watchLoss(services, (loss) => told.push(loss));
  return { told, says, watch };
}

test('a loss that is found after the start is told once, and so is its end', async () => {
  const { told, says, watch } = aHub();
  await vi.advanceTimersByTimeAsync(1000);
  expect(told).toEqual([]);
  says['projector'] = says['registrar'] = 'HISTORY_LOST: it ends early';
  await vi.advanceTimersByTimeAsync(5000);
  await watch.found;
  expect(told).toEqual(['HISTORY_LOST: it ends early']);
  says['projector'] = says['registrar'] = undefined;
  await vi.advanceTimersByTimeAsync(5000);
  expect(told).toEqual(['HISTORY_LOST: it ends early', undefined]);
  watch.stop();
});

test.each([
  { name: 'the projector has compared', says: undefined, lost: undefined },
  { name: 'a loss is found', says: 'HISTORY_LOST: gone', lost: 'HISTORY_LOST: gone' },
])('what Kubernetes shows counts as compared once $name', async ({ says: now, lost }) => {
  const { says, watch } = aHub();
  let isCompared = false;
  const compared = watch.untilCompared(60_000).then(() => (isCompared = true));
  await vi.advanceTimersByTimeAsync(5000);
  expect(isCompared).toBe(false);
  says['projector'] = now;
  await vi.advanceTimersByTimeAsync(1000);
  await compared;
  expect(watch.lost()).toBe(lost);
  watch.stop();
});
