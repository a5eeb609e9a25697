import fc from 'fast-check';
import { foldRecord, type StoredEvent } from '@rollcall/shared/events';
import { describe, expect, test } from 'vitest';
import { FleetTally } from '@rollcall/approver/policy';
import { readRecorded } from '../../tests/simulation/recorded-stream.ts';
import { type Needs, type OldEvent, whatMayGo } from './what-may-go.ts';

const all: Needs = { olderThanMs: Infinity, handledThrough: Infinity, named: new Set() };
/** `a1 b1 a2`: subjects in the order of the stream, each a second after the one before. */
const stream = (text: string): OldEvent[] =>
  text.split(' ').map((subject, index) => ({ sequence: index + 1, subject, storedAtMs: (index + 1) * 1000 }));

test.each([
  { name: 'the newest of each subject stays', events: 'a b a b c', needs: {}, want: [1, 2] },
  { name: "one that is its subject's only one stays", events: 'a b c', needs: {}, want: [] },
  {
    name: 'what the history said at the time stays, also where there is a younger one',
    events: 'a a a',
    needs: { olderThanMs: 3000 },
    want: [1],
  },
  { name: 'just as old as asked for is too young', events: 'a a a', needs: { olderThanMs: 2000 }, want: [] },
  {
    name: 'what a service has not handled stays, with what was said before it',
    events: 'a a a a',
    needs: { handledThrough: 2 },
    want: [1],
  },
  { name: 'nothing was handled', events: 'a a a', needs: { handledThrough: 0 }, want: [] },
  { name: 'what a dead letter names stays', events: 'a a a', needs: { named: new Set([1]) }, want: [2] },
])('$name', ({ events, needs, want }) => {
  expect(whatMayGo(stream(events), { ...all, ...needs }).sequences).toEqual(want);
});

test('nothing is looked at behind one that is too young, whatever time it says: clocks go back', () => {
  const events = stream('a a a a').map((event, at) => (at === 1 ? { ...event, storedAtMs: 9000 } : event));
  expect(whatMayGo(events, { ...all, olderThanMs: 5000 })).toEqual({ sequences: [], throughSequence: 1 });
});

test('of any history, any point at or after the time says the same without what may go', () => {
  const subjects = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(subjects, fc.nat(40), (words, cut) => {
      const events = stream(words.join(' '));
      const { sequences } = whatMayGo(events, { ...all, olderThanMs: (cut + 1) * 1000 });
      const gone = new Set(sequences);
      for (let end = cut; end <= events.length; end++) {
        const newest = (some: readonly OldEvent[]) =>
          Object.fromEntries(some.slice().map(({ subject, sequence }) => [subject, sequence]));
        const upTo = events.slice(0, end);
        expect(newest(upTo.filter(({ sequence }) => !gone.has(sequence)))).toEqual(newest(upTo));
      }
    }),
  );
});

describe('a recorded stream', () => {
  const events = readRecorded(new URL('../../tests/simulation/recorded/v0.1.jsonl', import.meta.url));
  const subjectOf = ({ kind, id, type }: StoredEvent) => `${kind}.${id}.${type}`;
  /** What may go is at least four days old: of its days nobody asks any more. */
  const later = Date.parse('2100-01-01');
  const cuts = [10, 30, 60, events.length];

  test.each(cuts)('trimmed up to event %i, every record is the one that it was', (cut) => {
    const old = events.map((event) => ({
      sequence: event.sequence,
      subject: subjectOf(event),
      storedAtMs: event.sequence,
    }));
    const { sequences } = whatMayGo(old, { ...all, olderThanMs: cut + 1 });
    const gone = new Set(sequences);
    const left = events.filter(({ sequence }) => !gone.has(sequence));
    const records = (some: readonly StoredEvent[]) =>
      [...Map.groupBy(some, ({ kind, id }) => `${kind}/${id}`)].map(([, own]) =>
        foldRecord(own[0] as StoredEvent, own),
      );
    const strip = (some: readonly StoredEvent[]) =>
      records(some)
        .map(({ head, newest, lastOf }) => ({ head, newest: newest?.sequence, lastOf }))
        .toSorted((a, b) => (a.head?.sequence ?? 0) - (b.head?.sequence ?? 0));
    expect(strip(left)).toEqual(strip(events));
    const counts = (some: readonly StoredEvent[]) => {
      const tally = new FleetTally();
      for (const event of some) tally.add(event);
      return { ...tally.counts(later), pending: tally.pending() };
    };
    expect(counts(left)).toEqual(counts(events));
  });
});
