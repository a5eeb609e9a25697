import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TimingWheel } from './timing-wheel.ts';

const tickMs = 10;

function expiredAt(wheel: TimingWheel, nowMs: number): number[] {
  const slots: number[] = [];
  wheel.advance(nowMs, (slot) => slots.push(slot));
  return slots;
}

test.each([
  { name: 'just before its time', atMs: 100, nowMs: 99, want: [] },
  { name: 'exactly at its time', atMs: 100, nowMs: 100, want: [3] },
  { name: 'between two ticks: at the later one', atMs: 95, nowMs: 99, want: [] },
  { name: 'in the past: at the next tick', atMs: -5, nowMs: 10, want: [3] },
  { name: 'several turns away, in its bucket too early', atMs: 410, nowMs: 90, want: [] },
  { name: 'several turns away', atMs: 410, nowMs: 410, want: [3] },
  { name: 'after a pause of many turns', atMs: 20, nowMs: 100_000, want: [3] },
])('a deadline $name', ({ atMs, nowMs, want }) => {
  const wheel = new TimingWheel({ startMs: 0, tickMs, buckets: 8, capacity: 4 });
  wheel.schedule(3, atMs);
  expect(expiredAt(wheel, nowMs)).toEqual(want);
});

test('what expires together can be cancelled and scheduled by the first of it', () => {
  const wheel = new TimingWheel({ startMs: 0, tickMs, buckets: 8, capacity: 4 });
  for (const slot of [0, 1, 2]) wheel.schedule(slot, 50);
  const expired: number[] = [];
  wheel.advance(60, (slot) => {
    expired.push(slot);
    for (const other of [0, 1, 2]) if (other !== slot) wheel.cancel(other);
    wheel.schedule(slot, 60);
  });
  expect(expired).toHaveLength(1);
  expect(expiredAt(wheel, 70)).toEqual(expired);
});

const slots = 20;
const step = fc.oneof(
  fc.record({
    kind: fc.constant('schedule' as const),
    slot: fc.nat(slots - 1),
    inMs: fc.integer({ min: -50, max: 2000 }),
  }),
  fc.record({ kind: fc.constant('cancel' as const), slot: fc.nat(slots - 1) }),
  fc.record({ kind: fc.constant('advance' as const), byMs: fc.nat(700) }),
);

test('it expires what a list of deadlines would, each once, never early and at most a tick late', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const wheel = new TimingWheel({ startMs: 0, tickMs, buckets: 16, capacity: 2 });
      wheel.grow(slots);
      const model = new Map<number, number>();
      let nowMs = 0;
      for (const one of steps) {
        if (one.kind === 'schedule') {
          const tick = Math.max(Math.ceil((nowMs + one.inMs) / tickMs), Math.floor(nowMs / tickMs) + 1);
          wheel.schedule(one.slot, nowMs + one.inMs);
          model.set(one.slot, tick * tickMs);
        } else if (one.kind === 'cancel') {
          wheel.cancel(one.slot);
          model.delete(one.slot);
        } else {
          nowMs += one.byMs;
        }
        const due = [...model].filter(([, atMs]) => atMs <= nowMs).map(([slot]) => slot);
        for (const slot of due) model.delete(slot);
        expect(expiredAt(wheel, nowMs).toSorted((a, b) => a - b)).toEqual(due.toSorted((a, b) => a - b));
        for (let slot = 0; slot < slots; slot++) expect(wheel.isScheduled(slot)).toBe(model.has(slot));
      }
    }),
  );
});
