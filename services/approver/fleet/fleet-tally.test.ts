import {
  approved,
  type Decision,
  denied,
  held,
  type Identity,
  policyDeclared,
  policyWithdrawn,
  requested,
  setDeclared,
  type StoredEvent,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { FleetTally } from './fleet-tally.ts';
import { aDecision, anIdentity, aRequest, nowMs, stored } from '../tests/builders.ts';

const dayMs = 86_400_000;

class Fleet {
  readonly tally = new FleetTally();
  readonly events: StoredEvent[] = [];
  #sequence = 0;
  event(
    definition: StoredEvent['definition'],
    id: string,
    section: object,
    more: Partial<StoredEvent> = {},
  ): this {
    const aggregate = { kind: definition.kind, id };
    const draft = { definition, aggregate, head: undefined, reason: 'R', message: 'm', section };
    this.events.push({ ...stored(draft, ++this.#sequence), ...more });
    return this;
  }
  asks(id: string, request = `R-${id}`, more: Partial<Identity> = {}): this {
    return this.event(
      requested,
      id,
      anIdentity({ clusterId: id, request: aRequest({ id: request }), ...more }),
    );
  }
  decided(
    definition: typeof approved | typeof held | typeof denied,
    id: string,
    more: Partial<Decision> = {},
  ): this {
    const verdict = definition.type as Decision['verdict'];
    const section = aDecision({ verdict, requestId: `R-${id}`, decidedAtMs: nowMs, ...more });
    return this.event(definition, id, section, { by: section.by });
  }
  counts(atMs = nowMs) {
    for (const event of this.events) this.tally.add(event);
    return this.tally.counts(atMs);
  }
}

test('clusters that are made up count for nothing', () => {
  const simulated = { run: 'r', isShown: true };
  const fleet = new Fleet().asks('a').decided(approved, 'a');
  fleet.asks('b', 'R-b', { simulated }).decided(approved, 'b', { simulated });
  expect(fleet.counts()).toMatchObject({ clusters: 1, pending: 0, approvedToday: 1 });
});

test('nothing has happened', () => {
  expect(new Fleet().counts()).toEqual({
    clusters: 0,
    pending: 0,
    approvedToday: 0,
    bySet: {},
    byPolicyToday: {},
  });
});

test('clusters count by set and policy; declared names stand there with 0; a withdrawn policy goes', () => {
  const fleet = new Fleet()
    .event(setDeclared, 'edge', { name: 'edge' })
    .event(setDeclared, 'core', { name: 'core' })
    .event(policyDeclared, 'p', { name: 'p' })
    .event(policyDeclared, 'old', { name: 'old' })
    .event(policyWithdrawn, 'old', { name: 'old' })
    .asks('a')
    .decided(approved, 'a', { clusterSet: 'edge', by: { policy: 'default' } })
    .asks('b')
    .decided(approved, 'b', { by: { person: 'anna' } })
    .asks('c')
    .decided(held, 'c')
    .asks('d');
  expect(fleet.counts()).toEqual({
    clusters: 2,
    pending: 2,
    approvedToday: 2,
    bySet: { edge: 1, core: 0 },
    byPolicyToday: { p: 0, default: 1 },
  });
  expect(fleet.tally.pending()).toEqual(['c', 'd']);
});

test.each([
  { name: 'one that was let in yesterday', at: nowMs - dayMs, now: nowMs, want: [1, 0] },
  {
    name: 'the last millisecond of its day',
    at: nowMs,
    now: Date.UTC(2026, 10, 21, 23, 59, 59, 999),
    want: [1, 1],
  },
  { name: 'the first millisecond of the next', at: nowMs, now: Date.UTC(2026, 10, 22), want: [1, 0] },
])('$name → $want', ({ at, now, want }) => {
  const { clusters, approvedToday } = new Fleet()
    .asks('a')
    .decided(approved, 'a', { decidedAtMs: at })
    .counts(now);
  expect([clusters, approvedToday]).toEqual(want);
});

test('a clock that was days ahead for a while ends no count of the real day', () => {
  const by = { policy: 'alpha' };
  const fleet = new Fleet()
    .decided(approved, 'a', { by })
    .decided(approved, 'b', { by, decidedAtMs: nowMs + 3 * dayMs })
    .decided(approved, 'c', { by });
  expect(fleet.counts()).toMatchObject({ approvedToday: 2, byPolicyToday: { alpha: 2 } });
  expect(fleet.counts(nowMs + 3 * dayMs)).toMatchObject({ approvedToday: 1 });
});

test('a clock that was a year ahead for weeks takes no count of a day away once it is right', () => {
  const fleet = new Fleet();
  for (let day = 0; day < 20; day++)
    fleet.decided(approved, `then-${day}`, { decidedAtMs: nowMs + (365 + day) * dayMs });
  for (const id of ['a', 'b']) fleet.decided(approved, id, { by: { policy: 'alpha' } });
  expect(fleet.counts()).toMatchObject({ approvedToday: 2, byPolicyToday: { alpha: 2 } });
});

test('registering again, and access given back, are no new clusters; access taken back is one less', () => {
  const out = { verdict: 'denied', approvedKey: undefined } as const;
  const back = new Fleet()
    .asks('a')
    .decided(approved, 'a')
    .asks('a', 'R2')
    .decided(approved, 'a', { requestId: 'R2' });
  expect(back.counts()).toMatchObject({ clusters: 1, approvedToday: 1 });
  const fleet = new Fleet().asks('a').decided(approved, 'a', { clusterSet: 's' }).decided(denied, 'a', out);
  expect(fleet.counts()).toMatchObject({ clusters: 0, bySet: {}, approvedToday: 1 });
  fleet.decided(approved, 'a', { clusterSet: 's' });
  expect(fleet.counts()).toMatchObject({ clusters: 1, bySet: { s: 1 }, approvedToday: 1 });
});

test('events that come twice, or identity after decision, change nothing', () => {
  const fleet = new Fleet().asks('a').decided(held, 'a').decided(approved, 'a');
  const [asked, ...decisions] = fleet.events as [StoredEvent, ...StoredEvent[]];
  for (const event of [...decisions, asked, ...decisions, asked]) fleet.tally.add(event);
  expect(fleet.tally.counts(nowMs)).toMatchObject({ clusters: 1, pending: 0, approvedToday: 1 });
});
