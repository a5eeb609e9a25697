import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { weaknesses } from './weaknesses.ts';

const checkout = join(import.meta.dirname, '..', '..');
/** They take the defences away themselves. */
const weakenThemselves = new Set(['weakened-rights', 'weaknesses']);

test.each(weaknesses)('$group: the line that is changed stands in $file, once', ({ file, from, to }) => {
  const text = readFileSync(join(checkout, file), 'utf8');
  expect(text.split(from)).toHaveLength(2);
  expect(text.replace(from, to)).not.toBe(text);
});

test.each(weaknesses)('$group: there is such a file of tests', ({ folder, group }) => {
  expect(existsSync(join(checkout, folder, `${group}.test.ts`))).toBe(true);
});

test.each(['tests/attacks', 'tests/admission'])('every file in %s is weakened once at least', (folder) => {
  const files = readdirSync(join(checkout, folder)).filter((name) => name.endsWith('.test.ts'));
  const groups = files
    .map((name) => name.replace('.test.ts', ''))
    .filter((group) => !weakenThemselves.has(group));
  const covered = new Set(
    weaknesses.filter((weakness) => weakness.folder === folder).map(({ group }) => group),
  );
  expect(groups.filter((group) => !covered.has(group))).toEqual([]);
});
