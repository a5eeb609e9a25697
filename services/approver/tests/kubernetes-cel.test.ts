import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestControlPlane, type TestControlPlane } from '../../../tests/harness/control-plane.ts';
import { apiServerAnswers } from './kubernetes-cel/api-server-answers.ts';
import { ourAnswer } from './kubernetes-cel/our-answers.ts';
import { rows } from './kubernetes-cel/rows.ts';

let plane: TestControlPlane;
beforeAll(async () => {
  plane = await startTestControlPlane({ withManifests: false });
});
afterAll(() => plane?.[Symbol.asyncDispose]());

test('policies give what an API server gives', async () => {
  const theirs = await apiServerAnswers(plane.admin, rows);
  const differing = rows.flatMap((row, index) => {
    const [api, ours] = [theirs[index], ourAnswer(row)];
    return JSON.stringify(api) === JSON.stringify(ours) ? [] : [{ ...row, api, ours }];
  });
  console.log(rows.length, 'rows');
  for (const d of differing) console.log(JSON.stringify(d));
  expect(differing).toEqual([]);
});
