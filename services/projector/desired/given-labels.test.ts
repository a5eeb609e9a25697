import {
  approved,
  changed,
  type Decision,
  type EventDefinition,
  predefined,
  rotationWished,
} from '@rollcall/shared/events';
import { describe, expect, test } from 'vitest';
import { aDecision, aMember, aRecord } from '../tests/cluster-record.builder.ts';
import { givenSince, isOfPeople, type PastEvent, shownUpTo } from './given-labels.ts';

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
const unrelated = (labels: Labels): Decided => ({ ...policy(labels), definition: rotationWished });
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
    name: 'a person is heard first in the new life of a hub',
    decisions: [policy({ a: '1' }), { ...person({ a: '2' }), epoch: 2 }],
    shown: 9,
    want: [],
  },
])('givenSince: $name → $want', ({ decisions, shown, want }) => {
  expect([...givenSince(historyOf(decisions), { epoch: 1, sequence: shown })]).toEqual(want);
});

describe('what an object shows that has no status yet', () => {
  const history = historyOf([
    { ...policy({}, { verdict: 'held' }) },
    policy({ a: '1' }),
    policy({ a: '2' }, { requestId: 'request-2' }),
  ]);
  const object = (labels: Labels) => ({ metadata: { name: 'blue', labels } });
  const ours = object({ 'rollcall.dev/created-by': 'projector' });
  const record = aRecord(aMember());

  test('one that we made has what its first approval gave', () => {
    expect(shownUpTo(ours, record, history)).toMatchObject({ sequence: 2 });
  });
  test('one that a person made has nothing of it', () => {
    expect(shownUpTo(object({}), record, history)).toMatchObject({ sequence: 0 });
  });
  test('afterwards it says so itself', () => {
    const observed = { epoch: 1, sequence: 7 };
    expect(shownUpTo({ ...ours, status: { observed } }, record, history)).toBe(observed);
  });
});

test('the set is a label of people, what else has our prefix is not', () => {
  const all = [set, 'team', 'x.dev/y', 'rollcall.dev/cluster-id', 'node.rollcall.dev/arch', 'a.k8s.io/b'];
  expect(all.filter(isOfPeople)).toEqual([set, 'team', 'x.dev/y']);
});
