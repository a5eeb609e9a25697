import type { Logger } from '@rollcall/shared/service';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepTime } from './keep-time.ts';
import { LivenessEngine } from './liveness-engine.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ignore = () => undefined;
const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
};

/** One ready cluster, 15 s interval, that is heard at 0 and never again. */
function aSilentCluster(options: { isListening: () => boolean }) {
  let nowMs = 0;
  const history: string[] = [];
  const engine = new LivenessEngine({
    nowMs,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 1, groupShare: 1, minimum: 10, windowMs: 15_000, deadlineMs: 300_000 },
    output: { live: ignore, outage: ignore, keyUse: ignore },
  });
  engine.proposals.takenBy((proposal) => history.push(proposal.state));
  const cluster = { clusterId: 'c1', key: 'U', intervalMs: 15_000, graceMs: 45_000 };
  engine.put({ ...cluster, state: 'ready', sinceMs: 0, lastHeartbeatMs: 0 }, nowMs);
  const clock = { monotonicMs: () => nowMs, hubMs: () => nowMs };
  const stop = keepTime({ engine, clock, logger: silentLogger, ...options });
  const pass = (ms: number, stepMs = 50) => {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      nowMs += stepMs;
      vi.advanceTimersByTime(50);
    }
  };
  return { history, pass, stop };
}

test('silence is found when time passes evenly', () => {
  const { history, pass, stop } = aSilentCluster({ isListening: () => true });
  pass(29_900);
  expect(history).toEqual([]);
  pass(200);
  expect(history).toEqual(['suspect']);
  stop();
});

test('after a pause the whole time starts again', () => {
  const { history, pass, stop } = aSilentCluster({ isListening: () => true });
  pass(20_000);
  pass(60_000, 60_000);
  pass(29_900);
  expect(history).toEqual([]);
  pass(200);
  expect(history).toEqual(['suspect']);
  stop();
});

test('while the bus is away no deadline passes', () => {
  const { history, pass, stop } = aSilentCluster({ isListening: () => false });
  pass(600_000, 500);
  expect(history).toEqual([]);
  stop();
});
