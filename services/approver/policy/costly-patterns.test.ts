import { expect, test } from 'vitest';
import { policyProblems } from './policy-problem.ts';

const rule = (name: string, pattern: string) => ({
  name,
  when: `request.clusterName.matches(r"${pattern}")`,
  effect: 'Hold' as const,
});
/** What an expression of 4,096 bytes had room for: it took the approver seconds and hundreds of megabytes. */
const costly = 'a{0,1000}'.repeat(400);

test.each([
  { name: 'repeats', pattern: costly, places: 800_000 },
  { name: 'nested repeats', pattern: '((a{10}){10}b){100}', places: 10_000 },
  { name: 'classes of Unicode', pattern: String.raw`\pL`.repeat(100), places: 10_000 },
])('a pattern that is too large for its $name is refused, and not compiled', ({ pattern, places }) => {
  const [problem] = policyProblems([rule('r', pattern)]);
  expect(problem).toMatchObject({ rule: 'r' });
  const [, size] = /take[s]? (\d+) places/.exec(problem?.message ?? '') ?? [];
  expect(Number(size)).toBeGreaterThanOrEqual(places);
});

test('patterns of many rules are refused together, from the rule on that is too much', () => {
  const rules = Array.from({ length: 12 }, (_, at) => rule(`r${at}`, `a{0,${1000 - at}}`));
  expect(policyProblems(rules).map((problem) => problem.rule)).toEqual(['r10', 'r11']);
  expect(policyProblems(rules.slice(0, 10))).toEqual([]);
});

test('names of sites, lists and what people write are not too large', () => {
  const list = Array.from({ length: 300 }, (_, at) => `edge-${at}`).join('|');
  expect(policyProblems([rule('list', `^(${list})$`), rule('name', '^eu-[a-z0-9-]{1,63}$')])).toEqual([]);
});
