import fc from 'fast-check';
import { mostRevocations } from '@rollcall/shared/rights';
import { expect, test } from 'vitest';
import type { ToldKeys } from './read-revoked-keys.ts';
import { revocationList, sameRevocations } from './revocation-list.ts';

const nowMs = 1_000_000_000;
const longestLifeMs = 3_600_000;
const told = (takenBack: ToldKeys['takenBack'], givenBack: [string, number][] = []): ToldKeys => ({
  takenBack,
  givenBack: new Map(givenBack),
});
const at = (key: string, atMs: number) => ({ revokedKeys: [{ key, atMs }] });

test.each([
  { name: 'nothing taken back', decisions: [], want: {} },
  { name: 'approved again', decisions: [{ revokedKeys: [] }], want: {} },
  {
    name: 'one credential life ahead, so that a renewal of the same moment stays out',
    decisions: [at('K', nowMs + 999)],
    want: { K: 1_003_600 },
  },
  {
    name: 'exactly as old as a credential can be',
    decisions: [at('K', nowMs - longestLifeMs)],
    want: { K: 1_000_000 },
  },
  { name: 'older than any credential', decisions: [at('K', nowMs - longestLifeMs - 1)], want: {} },
  {
    name: 'one key in two clusters',
    decisions: [at('K', nowMs), at('K', nowMs - 5000)],
    want: { K: 1_003_600 },
  },
  {
    name: 'in the order of the keys',
    decisions: [at('B', nowMs), at('A', nowMs)],
    want: { A: 1_003_600, B: 1_003_600 },
  },
])('$name', ({ decisions, want }) => {
  const { revocations } = revocationList(told(decisions), { nowMs, longestLifeMs });
  expect(JSON.stringify(revocations)).toBe(JSON.stringify(want));
});

test.each([
  { name: 'well before the signing keys of now', atMs: nowMs - 300_001, want: [] },
  { name: 'so shortly before that an old reading could have signed', atMs: nowMs - 300_000, want: ['K'] },
])('what was taken back $name → $want', ({ atMs, want }) => {
  const { revocations } = revocationList(told([at('K', atMs)]), {
    nowMs,
    longestLifeMs,
    signersSinceMs: nowMs,
  });
  expect(Object.keys(revocations)).toEqual(want);
});

const untilSeconds = (nowMs + longestLifeMs) / 1000;

test.each([
  { name: 'no event names it', takenBack: [], givenBack: [], want: { K: untilSeconds } },
  { name: 'an approval came after', takenBack: [], givenBack: [['K', nowMs + 1]], want: {} },
  {
    name: 'the approval came before',
    takenBack: [],
    givenBack: [['K', nowMs - 1]],
    want: { K: untilSeconds },
  },
  { name: 'another was approved', takenBack: [], givenBack: [['L', nowMs + 1]], want: { K: untilSeconds } },
  {
    name: 'an event says it was later',
    takenBack: [at('K', nowMs + 5000)],
    givenBack: [],
    want: { K: untilSeconds + 5 },
  },
] as const)('a key that is on the list already: $name', ({ takenBack, givenBack, want }) => {
  const stored = { K: untilSeconds, GONE: nowMs / 1000 - 1 };
  const words = told(
    takenBack,
    [...givenBack].map(([key, atMs]) => [key, atMs]),
  );
  expect(revocationList(words, { nowMs, longestLifeMs, stored }).revocations).toEqual(want);
});

test('whatever is on the list outlasts every credential it covers', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: longestLifeMs * 2 }),
      fc.integer({ min: 0, max: longestLifeMs }),
      (agoMs, lifeMs) => {
        const atMs = nowMs - agoMs;
        const { revocations } = revocationList(told([at('K', atMs)]), { nowMs, longestLifeMs });
        const couldBeAlive = atMs + lifeMs > nowMs;
        const until = revocations['K'];
        return !couldBeAlive || (until !== undefined && until * 1000 > atMs + lifeMs - 1000);
      },
    ),
  );
});

test('what does not fit is the oldest', () => {
  const decisions = Array.from({ length: mostRevocations + 2 }, (_, index) => at(`K${index}`, nowMs - index));
  const { revocations, dropped } = revocationList(told(decisions), { nowMs, longestLifeMs });
  expect(dropped).toBe(2);
  expect(Object.keys(revocations)).toHaveLength(mostRevocations);
  expect(revocations[`K${mostRevocations}`]).toBeUndefined();
});

const hourMs = 3_600_000;
const fleet = { nowMs: 1_000 * hourMs, longestLifeMs: 73 * hourMs };
/** As often as the budget lets them, for as long as an entry stays. */
const replacedByAgents = (members: number) =>
  Array.from({ length: members }, (_, member) => ({
    revokedKeys: Array.from({ length: 74 }, (__, hours) => ({
      key: `M${member}-${hours}`,
      atMs: fleet.nowMs - hours * hourMs,
      rotated: true,
    })),
  }));

test.each([
  { members: 151, hours: 72 },
  { members: 459, hours: 23.5 },
])('$members members that rotate all the time push out no key taken back $hours h ago', (few) => {
  const decisions = [...replacedByAgents(few.members), at('P', fleet.nowMs - few.hours * hourMs)];
  const stored = { UNEXPLAINED: (fleet.nowMs + 1000) / 1000 };
  const list = revocationList(told(decisions), { ...fleet, stored });
  expect(Object.keys(list.revocations)).toHaveLength(mostRevocations);
  expect(list.revocations).toHaveProperty('P');
  expect(list.revocations).toHaveProperty('UNEXPLAINED');
  expect(list.revocations).toHaveProperty('M0-0');
  expect(list.dropped).toBeGreaterThan(0);
  expect(list.droppedTakenBack).toBe(0);
});

test('whoever has two tokens pushes out nothing that a person took back, by letting clusters in and leave', () => {
  // 10,000 uses of each a day, for as long as an entry stays.
  const usesPerHour = 20_000 / 24;
  const gaveUp = Array.from({ length: Math.ceil(usesPerHour * 73) }, (_, use) => ({
    revokedKeys: [
      { key: `L${use}`, atMs: fleet.nowMs - (use / usesPerHour) * hourMs, left: true, byAgent: true },
    ],
  }));
  const list = revocationList(told([...gaveUp, at('PERSON', fleet.nowMs - 72 * hourMs)]), fleet);
  expect(list.revocations).toHaveProperty('PERSON');
  expect(list.revocations).toHaveProperty('L0');
  expect(list.droppedTakenBack).toBe(0);
});

test('a key that one cluster replaced and another one has taken back counts as taken back', () => {
  const shared = { revokedKeys: [{ key: 'P', atMs: fleet.nowMs - 60 * hourMs, rotated: true }] };
  const decisions = [shared, at('P', fleet.nowMs - 70 * hourMs), ...replacedByAgents(200)];
  expect(revocationList(told(decisions), fleet).revocations).toHaveProperty('P');
});

test('keys that were taken back and do not fit are counted', () => {
  const decisions = Array.from({ length: mostRevocations + 2 }, (_, index) => at(`K${index}`, nowMs - index));
  const { droppedTakenBack } = revocationList(told(decisions), { nowMs, longestLifeMs });
  expect(droppedTakenBack).toBe(2);
});

test.each([
  { a: { K: 1 }, b: { K: 1 }, same: true },
  { a: { K: 1 }, b: { K: 2 }, same: false },
  { a: { K: 1 }, b: {}, same: false },
  { a: {}, b: { K: 1 }, same: false },
])('$a and $b are the same: $same', ({ a, b, same }) => {
  expect(sameRevocations(a, b)).toBe(same);
});
