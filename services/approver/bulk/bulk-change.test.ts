import {
  type AggregateRecord,
  changed,
  denied,
  draft,
  type EventDraft,
  foldRecord,
  leaving,
  revoked,
  type StoredEvent,
  type BulkChanges,
  bulkAggregate,
  bulkOf,
} from '@rollcall/shared/events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideConfirmation, limitOf, passOrHold, putsOut } from './bulk-change.ts';
import { aDecision, anIdentity, aRecord, nowMs, stored } from '../tests/builders.ts';

const record = aRecord(anIdentity(), { definition: changed, section: aDecision() });

/** The hub's own aggregate, to which decisions are applied. */
class Hub {
  readonly events: StoredEvent[] = [];
  get bulk(): AggregateRecord {
    return foldRecord(bulkAggregate, this.events);
  }
  get state(): BulkChanges {
    return bulkOf(this.bulk);
  }
  /** @returns what was written, by type */
  apply(drafts: readonly EventDraft[]): string[] {
    for (const each of drafts)
      if (each.aggregate.id === bulkAggregate.id) this.events.push(stored(each, this.events.length + 1));
    return drafts.map(({ definition }) => definition.type);
  }
  leave(clusterId: string, at = 0, limit = 5): string[] {
    const on = { aggregate: { kind: 'cluster', id: clusterId } as const, head: undefined };
    const section = aDecision({ verdict: 'leaving', clusterName: clusterId, leavingUid: `u-${clusterId}` });
    const operation = draft(leaving, on, {
      by: { person: 'anna' },
      reason: 'Leaving',
      message: 'm',
      section,
    });
    return this.apply(passOrHold({ operation, bulk: this.bulk, limit, nowMs: nowMs + at }));
  }
  confirm(id: string, at = 0): string[] {
    const confirmation = { id, by: 'boss' };
    return this.apply(decideConfirmation({ bulk: this.bulk, confirmation, nowMs: nowMs + at }));
  }
}
const ids = (count: number, prefix = 'c'): string[] =>
  Array.from({ length: count }, (_, index) => prefix + index);
const passes = ['bulk-counted', 'leaving'];

test('five a minute pass, the sixth is held, and stays held when the minute is over', () => {
  const hub = new Hub();
  for (const id of ids(5)) expect(hub.leave(id)).toEqual(passes);
  expect(hub.leave('c5')).toEqual(['bulk-held']);
  expect(hub.leave('c5')).toEqual([]);
  expect(hub.leave('c5', 120_000)).toEqual([]);
  expect(hub.leave('other', 59_000)).toEqual(['bulk-held']);
  expect(hub.leave('later', 120_000)).toEqual(passes);
});

test('a confirmation is about exactly the list it names, and counts once', () => {
  const hub = new Hub();
  for (const id of ids(7)) hub.leave(id);
  const first = hub.state.held?.id ?? '';
  expect(hub.leave('c7')).toEqual(['bulk-held']);
  expect(hub.confirm(first)).toEqual([]);
  const now = hub.state.held?.id ?? '';
  expect(hub.confirm(now)).toEqual(['bulk-confirmed']);
  expect(hub.confirm(now)).toEqual([]);
  for (const id of ['c5', 'c6', 'c7']) expect(hub.leave(id)).toEqual(passes);
  expect(hub.leave('c5')).toEqual(['bulk-held']);
});

test('a confirmation that nobody used ends', () => {
  const hub = new Hub();
  for (const id of ids(6)) hub.leave(id);
  hub.confirm(hub.state.held?.id ?? '');
  for (const id of ids(5, 'd')) hub.leave(id, 599_000);
  expect(hub.leave('c5', 600_001)).toEqual(['bulk-held']);
});

test('what was counted or confirmed while a clock was a year ahead counts no more once it is right', () => {
  const yearMs = 365 * 86_400_000;
  const hub = new Hub();
  for (const id of ids(6)) hub.leave(id, yearMs);
  hub.confirm(hub.state.held?.id ?? '', yearMs);
  for (const id of ids(5, 'd')) expect(hub.leave(id)).toEqual(passes);
  expect(hub.leave('c5')).toEqual(['bulk-held']);
});

test.each([
  { clusters: 10, want: 5 },
  { clusters: 100, want: 5 },
  { clusters: 119, want: 5 },
  { clusters: 120, want: 6 },
  { clusters: 10_000, want: 500 },
])('of $clusters clusters $want may be put out within a minute', ({ clusters, want }) => {
  expect(limitOf({ perMinute: 5, share: 0.05 }, clusters)).toBe(want);
});

test('only what puts a member out counts', () => {
  const operation = (definition: typeof denied, section = aDecision()) =>
    draft(definition, record, { reason: 'R', message: 'm', section });
  const { approvedKey: _out, ...without } = aDecision();
  expect(putsOut(record, operation(changed))).toBe(false);
  expect(putsOut(record, operation(denied, without))).toBe(true);
  expect(putsOut(record, operation(revoked, aDecision({ approvedKey: 'K2' })))).toBe(true);
  expect(putsOut({ decision: without }, operation(denied, without))).toBe(false);
  expect(putsOut({ decision: aDecision({ verdict: 'leaving' }) }, operation(leaving, without))).toBe(false);
});

test('whatever the order, no minute sees more than the limit without a confirmation', () => {
  const step = fc.record({ id: fc.constantFrom(...ids(40)), afterMs: fc.integer({ min: 0, max: 20_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 6 }), (steps, limit) => {
      const hub = new Hub();
      const passedAt: number[] = [];
      let at = 0;
      for (const { id, afterMs } of steps) {
        at += afterMs;
        if (hub.leave(id, at, limit).includes('leaving')) passedAt.push(at);
      }
      for (const start of passedAt) {
        // Counted by second, so that a window of 59 s is one that is surely whole.
        const inMinute = passedAt.filter((time) => time >= start && time < start + 59_000);
        expect(inMinute.length).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test('a list that is full takes no more, and nothing passes by it', () => {
  const hub = new Hub();
  for (const id of ids(505)) hub.leave(id);
  expect(hub.state.held?.operations).toHaveLength(300);
  expect(hub.leave('one-more')).toEqual([]);
});

test('who confirms faster than the hub acts waits, and both lists stay one message', () => {
  const hub = new Hub();
  const size = () => JSON.stringify(hub.state).length;
  let largest = 0;
  for (const id of ids(305, 'cluster-of-a-shop-')) hub.leave(id);
  expect(hub.confirm(hub.state.held?.id ?? '')).toEqual(['bulk-confirmed']);
  for (const id of ids(400, 'another-of-a-shop-')) hub.leave(id);
  largest = Math.max(largest, size());
  const { id = '', operations = [] } = hub.state.held ?? {};
  expect(operations).toHaveLength(300);
  expect(hub.confirm(id)).toEqual([]);
  expect(hub.state.confirmed?.operations).toHaveLength(300);
  // One of them is acted on, which is not enough; then all are.
  expect(hub.leave('cluster-of-a-shop-5')).toEqual(passes);
  expect(hub.confirm(id)).toEqual([]);
  for (const clusterId of ids(305, 'cluster-of-a-shop-').slice(6)) hub.leave(clusterId);
  expect(hub.state.confirmed?.operations).toEqual([]);
  expect(hub.confirm(id)).toEqual(['bulk-confirmed']);
  expect(largest).toBeLessThan(262_144 / 2);
});

test('what nobody acts on is void in ten minutes, and holds no confirmation up for longer', () => {
  const hub = new Hub();
  for (const id of ids(305)) hub.leave(id);
  hub.confirm(hub.state.held?.id ?? '');
  for (const id of ids(20, 'd')) hub.leave(id);
  const id = hub.state.held?.id ?? '';
  expect(hub.confirm(id, 599_999)).toEqual([]);
  expect(hub.confirm(id, 600_000)).toEqual(['bulk-confirmed']);
  expect(hub.state.confirmed?.operations).toHaveLength(20);
});

test('of a name that takes many bytes the list shows fewer characters', () => {
  for (const person of ['\u0001'.repeat(500), '\u{1f600}'.repeat(500), 'é'.repeat(500), 'a'.repeat(500)]) {
    const hub = new Hub();
    const on = { aggregate: { kind: 'cluster', id: 'c' } as const, head: undefined };
    const section = aDecision({ verdict: 'leaving' });
    const operation = draft(leaving, on, { by: { person }, reason: 'Leaving', message: 'm', section });
    hub.apply(passOrHold({ operation, bulk: hub.bulk, limit: 0, nowMs }));
    const shown = hub.state.held?.operations[0]?.person ?? '';
    expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(130);
    expect(shown.length).toBeGreaterThan(20);
  }
});
