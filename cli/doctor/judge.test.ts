import { expect, test } from 'vitest';
import { judgeCertificate } from './examine-address.ts';
import { judgeDisk, judgeRotations } from './examine-state.ts';
import { judgeClock } from './judge-clock.ts';

const dayMs = 86_400_000;
const gib = 1024 ** 3;

test.each([
  { name: 'two weeks left', untilMs: 14 * dayMs, want: 'ok' },
  { name: 'less than two weeks left', untilMs: 14 * dayMs - 1, want: 'finding' },
  { name: 'over', untilMs: -1, want: 'finding' },
])('a certificate with $name: $want', ({ untilMs, want }) => {
  expect(judgeCertificate('h:1', untilMs, 0)).toMatchObject({ outcome: want });
});

test.each([
  { name: 'half full', freeBytes: 50 * gib, want: 'ok' },
  { name: 'exactly 80 % full', freeBytes: 20 * gib, want: 'ok' },
  { name: 'more than 80 % full', freeBytes: 19 * gib, want: 'finding' },
])('a disk that is $name: $want', ({ freeBytes, want }) => {
  expect(judgeDisk('d', { freeBytes, totalBytes: 100 * gib })).toMatchObject({ outcome: want });
});

test('of a large disk 20 GiB are room enough', () => {
  expect(judgeDisk('d', { freeBytes: 50 * gib, totalBytes: 252 * gib })).toMatchObject({ outcome: 'ok' });
});

test('a small disk needs half a gibibyte all the same', () => {
  expect(judgeDisk('d', { freeBytes: 0.4 * gib, totalBytes: gib })).toMatchObject({ outcome: 'finding' });
});

test.each([
  { name: 'within what can be measured', differenceMs: -400, uncertaintyMs: 500, want: /^the same as here/ },
  { name: 'ahead', differenceMs: 3000, uncertaintyMs: 10, want: /^3\.0 s ahead of here/ },
  { name: 'behind', differenceMs: -200_000, uncertaintyMs: 10, want: /^200\.0 s behind here/ },
])('a clock $name', ({ differenceMs, uncertaintyMs, want }) => {
  expect(judgeClock('NATS', { differenceMs, uncertaintyMs }).message).toMatch(want);
});

test('only a clock that is certainly far away is a finding', () => {
  const outcome = (differenceMs: number, uncertaintyMs: number) =>
    judgeClock('NATS', { differenceMs, uncertaintyMs }).outcome;
  expect([outcome(150_001, 0), outcome(150_000, 0), outcome(160_000, 20_000)]).toEqual([
    'finding',
    'ok',
    'ok',
  ]);
});

const rolledAtMs = 1_700_000_000_000;
const dayAndHourMs = 25 * 3_600_000;
test.each([
  { name: 'no key', rotations: undefined, laterMs: 0, want: [['ok', 'no key is rolling over']] },
  {
    name: 'a key whose next step is not due',
    rotations: { ca: { stage: 'announced', atMs: rolledAtMs } } as const,
    laterMs: dayAndHourMs - 1,
    want: [['ok', 'rolling over: ca until 2023-11-15T23:13:20.000Z']],
  },
  {
    name: 'one whose next step is due, beside another',
    rotations: {
      ca: { stage: 'announced', atMs: rolledAtMs },
      'signing-keys': { stage: 'switched', atMs: rolledAtMs + 1 },
    } as const,
    laterMs: dayAndHourMs,
    want: [['finding', 'the next step of "ca" (switch) is due']],
  },
])('what is rolling over: $name', ({ rotations, laterMs, want }) => {
  const found = judgeRotations(rotations, rolledAtMs + laterMs);
  expect(found.map(({ outcome, message }) => [outcome, message])).toEqual(want);
});
