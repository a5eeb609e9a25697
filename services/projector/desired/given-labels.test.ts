import {
  approved,
  changed,
  type Decision,
  type EventDefinition,
  predefined,
  rotationRequested,
} from '@rollcall/shared/events';
import { describe, expect, test } from 'vitest';
import { aDecision } from '../tests/cluster-record.builder.ts';
import { GivenLabels, isOfPeople, type PastEvent, shownUpTo } from './given-labels.ts';

type Labels = Readonly<Record<string, string>>;
interface Decided {
  readonly definition: EventDefinition;
  readonly section: Decision;
  readonly person?: string;
  readonly epoch?: number;
}
const policy = (labels: Labels, more: Partial<Decision> = {}): Decided => ({
  definition: approved,
  section: aDecision({ labels, ...more }),
});
const person = (labels: Labels, more: Partial<Decision> = {}): Decided => ({
  definition: changed,
  section: aDecision({ labels, ...more }),
  person: 'anna',
});
const unrelated = (labels: Labels): Decided => ({ ...policy(labels), definition: rotationRequested });
const restored = (labels: Labels): Decided => ({ ...policy(labels), definition: changed, epoch: 2 });

/** Sequences are 1, 2, 3… */
const historyOf = (decisions: readonly Decided[]): PastEvent[] =>
  decisions.map(({ definition, section, person: name, epoch = 1 }, index) => ({
    definition,
    section,
    epoch,
    sequence: index + 1,
    by: name === undefined ? { service: 'approver' } : { person: name },
  }));

const givenBy = (history: readonly PastEvent[], given: GivenLabels): string[] => {
  for (const event of history) given.add(event);
  return [...given.labels];
};

const set = 'rollcall.dev/cluster-set';
test.each([
  { name: 'nothing happened since', decisions: [policy({ a: '1' })], shown: 1, want: [] },
  { name: 'the approval is not shown yet', decisions: [policy({ a: '1' })], shown: 0, want: ['a'] },
  {
    name: 'a person changed a label, and maybe once more since',
    decisions: [policy({ a: '1' }), person({ a: '2' })],
    shown: 1,
    want: [],
  },
  {
    name: 'a person changed it there and back',
    decisions: [policy({ a: '1' }), person({ a: '2' }), person({ a: '1' })],
    shown: 1,
    want: [],
  },
  {
    name: 'a decision about something else, while what a person said waits',
    decisions: [policy({ a: '1' }), unrelated({ a: '1' })],
    shown: 1,
    want: [],
  },
  {
    name: 'a decision about something else, after one that a person said',
    decisions: [policy({ a: '1' }), person({ a: '2' }), unrelated({ a: '2' })],
    shown: 1,
    want: [],
  },
  {
    name: 'a new request brings other labels',
    decisions: [policy({ a: '1', b: '1' }), policy({ a: '1', b: '2' })],
    shown: 1,
    want: ['b'],
  },
  {
    name: 'a person has changed since what a new request brought',
    decisions: [policy({ a: '1' }), policy({ a: '2' }), person({ a: '3' })],
    shown: 1,
    want: [],
  },
  {
    name: 'a policy puts it into a set',
    decisions: [policy({ a: '1' }), policy({ a: '1' }, { clusterSet: 'x' })],
    shown: 1,
    want: [set],
  },
  {
    name: 'a person put it into a set',
    decisions: [policy({ a: '1' }), person({ a: '1' }, { clusterSet: 'x' })],
    shown: 1,
    want: [],
  },
  {
    name: 'a token adds to what a person laid down',
    decisions: [{ ...person({ a: '1' }), definition: predefined }, policy({ a: '1', b: '2' })],
    shown: 1,
    want: ['b'],
  },
  {
    name: 'a restored hub says what it knows',
    decisions: [policy({ a: '1' }), restored({ a: '1' })],
    shown: 9,
    want: ['a', set],
  },
  {
    name: 'a person is heard first in the new epoch of a hub',
    decisions: [policy({ a: '1' }), { ...person({ a: '2' }), epoch: 2 }],
    shown: 9,
    want: [],
  },
])('given since: $name → $want', ({ decisions, shown, want }) => {
  const given = new GivenLabels({ epoch: 1, sequence: shown }, undefined);
  expect(givenBy(historyOf(decisions), given)).toEqual(want);
});

describe('what an object shows that has no status yet', () => {
  const history = historyOf([
    { ...policy({}, { verdict: 'held' }) },
    policy({ a: '1' }),
    policy({ a: '2' }, { requestId: 'request-2' }),
  ]);
  const object = (labels: Labels) => ({ metadata: { name: 'blue', labels } });
  const ours = object({ 'rollcall.dev/created-by': 'projector' });
  const since = (labels: Labels) => givenBy(history, new GivenLabels(shownUpTo(object(labels)), 'request-1'));

  test('one that we made has what stood there when its request began to wait, or else what its first approval gave', () => {
    const made = shownUpTo(ours);
    expect(givenBy(history.slice(0, 2), new GivenLabels(made, 'request-1'))).toEqual(['a']);
    expect(givenBy(history.slice(1, 2), new GivenLabels(made, 'request-1'))).toEqual([]);
    expect(givenBy(history.slice(1), new GivenLabels(made, 'request-1'))).toEqual(['a']);
  });
  test('one that we made for a request that was never let in has nothing of it', () => {
    expect(givenBy(history, new GivenLabels(shownUpTo(ours), 'request-9'))).toContain('a');
  });
  test('one that a person made has nothing of it', () => {
    expect(since({})).toContain('a');
  });
  test('afterwards it says so itself', () => {
    const observed = { epoch: 1, sequence: 7 };
    expect(shownUpTo({ ...ours, status: { observed } })).toBe(observed);
  });
});

test('the set is a label of people, what else has our prefix is not', () => {
  const all = [set, 'team', 'x.dev/y', 'rollcall.dev/cluster-id', 'node.rollcall.dev/arch', 'a.k8s.io/b'];
  expect(all.filter(isOfPeople)).toEqual([set, 'team', 'x.dev/y']);
});
