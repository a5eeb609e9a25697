import { expect, test } from 'vitest';
import { parseWitness, whyLost } from './history-witness.ts';

const witness = { epoch: 1, sequence: 10, digest: 'sha256:ten', missing: 2 };
const whole = { messages: 18, lastSequence: 20 };

test.each([
  { name: 'longer, and the event is there', state: whole, there: 'sha256:ten', want: /^whole$/ },
  { name: 'shorter', state: { messages: 9, lastSequence: 9 }, there: undefined, want: /ends at event 9/ },
  { name: 'empty', state: { messages: 0, lastSequence: 0 }, there: undefined, want: /ends at event 0/ },
  { name: 'another event', state: whole, there: 'sha256:other', want: /not the one/ },
  { name: 'the event cannot be read', state: whole, there: undefined, want: /cannot be read/ },
  {
    name: 'new gaps',
    state: { messages: 15, lastSequence: 20 },
    there: 'sha256:ten',
    want: /^3 events are missing/,
  },
  {
    name: 'trimmed to what an archive does not have',
    state: { messages: 13, lastSequence: 20, archived: { events: 5, throughSequence: 9 } },
    there: 'sha256:ten',
    want: /^whole$/,
  },
  {
    name: 'not trimmed to its end yet',
    state: { messages: 16, lastSequence: 20, archived: { events: 5, throughSequence: 9 } },
    there: 'sha256:ten',
    want: /^whole$/,
  },
  {
    name: 'missing one more than an archive has',
    state: { messages: 12, lastSequence: 20, archived: { events: 5, throughSequence: 9 } },
    there: 'sha256:ten',
    want: /^1 events are missing/,
  },
  {
    name: 'without the event itself, which an archive may have',
    state: { messages: 13, lastSequence: 20, archived: { events: 5, throughSequence: 10 } },
    there: undefined,
    want: /^whole$/,
  },
  {
    name: 'with another event where one may be archived',
    state: { messages: 13, lastSequence: 20, archived: { events: 5, throughSequence: 10 } },
    there: 'sha256:other',
    want: /not the one/,
  },
])('a history that is $name', ({ state, there, want }) => {
  expect(whyLost(witness, state, there) ?? 'whole').toMatch(want);
});

test('a witness that does not count gaps misses none', () => {
  const { missing: _none, ...shown } = witness;
  expect(whyLost(shown, { messages: 3, lastSequence: 20 }, 'sha256:ten')).toBeUndefined();
});

test.each([
  '',
  'null',
  '{}',
  '{"epoch":1,"sequence":"x","digest":"d"}',
  '{"epoch":1,"sequence":-1,"digest":"d"}',
  '{"epoch":1,"sequence":1,"digest":"d","missing":-1}',
])('%s is no witness', (text) => {
  expect(parseWitness(text)).toBeUndefined();
});
