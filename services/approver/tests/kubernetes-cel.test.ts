import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestControlPlane, type TestControlPlane } from '../../../tests/harness/control-plane.ts';
import { apiServerAnswers } from './kubernetes-cel/api-server-answers.ts';
import { knownDifferences, written } from './kubernetes-cel/known-differences.ts';
import { ourAnswer } from './kubernetes-cel/our-answers.ts';
import { rows } from './kubernetes-cel/rows.ts';

/*
 * The same expressions on the same values, evaluated by a ValidatingAdmissionPolicy of a real API server and by policies of Rollcall:
 * what is no expression, what cannot be evaluated, and else the value and its type.
 */
let plane: TestControlPlane;
beforeAll(async () => {
  plane = await startTestControlPlane({ withManifests: false });
});
afterAll(() => plane?.[Symbol.asyncDispose]());

const known = new Set(knownDifferences.map(written));

test('policies give what an API server gives, but for what is known to differ', async () => {
  expect(rows.length).toBeGreaterThan(1000);
  const theirs = await apiServerAnswers(plane.admin, rows);
  const both = rows.map((row, index) => ({ row: written(row), theirs: theirs[index], ours: ourAnswer(row) }));
  const differing = both.filter(({ theirs: one, ours }) => JSON.stringify(one) !== JSON.stringify(ours));
  expect(differing.filter(({ row }) => !known.has(row))).toEqual([]);
  // What does not differ any more is no difference.
  expect(new Set(differing.map(({ row }) => row))).toEqual(known);
});

test('the guide has the same differences', () => {
  const path = join(import.meta.dirname, '..', '..', '..', 'docs', 'policy-guide.md');
  const section = readFileSync(path, 'utf8')
    .split('### What differs from an API server')[1]
    ?.split('\n## ')[0];
  const cells = section?.match(/^\| `.*?` \|/gm) ?? [];
  const listed = cells.map((cell) => cell.slice(3, -3).replaceAll('\\|', '|'));
  expect(new Set(listed)).toEqual(known);
});
