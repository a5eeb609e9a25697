import {
  type Admission,
  admissionAggregate,
  type AggregateRecord,
  type EventDraft,
  foldRecord,
  type UnprovenWord,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { stored } from '../tests/builders.ts';
import { decideRewritten, decideInPlace, mostUnproven, provenList } from './unattributed-changes.ts';

const words = (count: number): UnprovenWord[] =>
  Array.from({ length: count }, (_, at) => ({ object: `approvalpolicies/p${at}`, word: 'version:u@1' }));
const nothing = foldRecord(admissionAggregate, []);
const after = (drafts: readonly EventDraft[], before: AggregateRecord = nothing): AggregateRecord =>
  drafts.length === 0
    ? before
    : foldRecord(
        admissionAggregate,
        drafts.map((each, index) => stored(each, index + 1)),
      );
const gate = (unproven: readonly UnprovenWord[], record = nothing) =>
  decideInPlace({ record, version: 'v1', kindUid: 'k', unproven });
const sectionOf = ([draft]: readonly EventDraft[]) => draft?.section as Admission;

test.each([
  { count: 0, listed: 0, unlisted: undefined },
  { count: mostUnproven, listed: mostUnproven, unlisted: undefined },
  { count: mostUnproven + 1, listed: mostUnproven, unlisted: 1 },
  { count: 9000, listed: mostUnproven, unlisted: 9000 - mostUnproven },
])(
  'of $count words $listed are listed, and it says how many are not: $unlisted',
  ({ count, listed, unlisted }) => {
    const section = sectionOf(gate(words(count)));
    expect(section.unproven).toHaveLength(listed);
    expect(section.unlisted).toBe(unlisted);
  },
);

test.each([
  { name: 'a whole list', count: mostUnproven, isProof: true },
  { name: 'a list that is cut', count: mostUnproven + 1, isProof: false },
])('$name proves that all else was written later: $isProof', ({ count, isProof }) => {
  const record = after(gate(words(count)));
  expect(provenList(record, 'v1') !== undefined).toBe(isProof);
  expect(provenList(record, 'v2')).toBeUndefined();
  // Whoever begins with it says its own list, or takes that one.
  expect(gate(words(3), record)).toHaveLength(isProof ? 0 : 1);
});

test('a list that was cut stays so when one on it is written again, and never has more than fits', () => {
  const cut = after(gate(words(mostUnproven + 7)));
  const gone = new Set(['version:u@1']);
  const shorter = sectionOf(decideRewritten({ record: cut, object: 'approvalpolicies/p0', gone }));
  expect(shorter).toMatchObject({ unlisted: 7 });
  expect(shorter.unproven).toHaveLength(mostUnproven - 1);
  const whole = after(gate(words(mostUnproven)));
  const instead = new Set(['version:u@2']);
  const more = sectionOf(decideRewritten({ record: whole, object: 'approvalpolicies/new', gone, instead }));
  expect(more).toMatchObject({ unlisted: 1 });
  expect(more.unproven).toHaveLength(mostUnproven);
});
