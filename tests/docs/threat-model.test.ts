import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentRoles, otherRoles, serviceRoles } from '@rollcall/shared/rights';
import { expect, test } from 'vitest';
import { readDocument, repository } from './markdown.ts';

const page = readDocument('docs/security/threat-model.md');

/** `path.test.ts` “a part of a name” “another”: what the page says is shown by which test. */
function namedTests(markdown: string): { file: string; name: string }[] {
  const found = markdown.matchAll(/`(?<file>[\w./-]+\.test\.ts)`(?<names>(?: “[^”]+”)*)/g);
  return [...found].flatMap(({ groups }) => {
    const names = [...(groups?.['names'] ?? '').matchAll(/“([^”]+)”/g)].map(([, name = '']) => name);
    return names.map((name) => ({ file: groups?.['file'] ?? '', name }));
  });
}

test.each(namedTests(page))('there is a test “$name” in $file', ({ file, name }) => {
  expect(existsSync(join(repository, file))).toBe(true);
  expect(readFileSync(join(repository, file), 'utf8')).toContain(name);
});

test('every threat names the test that shows its answer', () => {
  const tables = page.split('\n## ').filter((section) => section.startsWith('Threats'));
  const rows = tables.flatMap((section) =>
    section.split('\n').filter((line) => /^\| (?!threat|---)/.test(line)),
  );
  expect(rows.length).toBeGreaterThan(25);
  expect(rows.filter((row) => namedTests(row).length === 0)).toEqual([]);
});

test('the page about identities in wrong hands names every role of the table', () => {
  const identities = readDocument('docs/security/identities.md').toLowerCase();
  const roles = Object.keys({ ...agentRoles, ...serviceRoles, ...otherRoles });
  // Each is beside a service in that one's file.
  const inFiles = new Set(['callout', 'claims']);
  const missing = roles.filter((role) => !inFiles.has(role) && !identities.includes(role));
  expect(missing).toEqual([]);
});

test('every group of attacks stands in the threat model', () => {
  const groups = readdirSync(join(repository, 'tests/attacks')).filter((name) => name.endsWith('.test.ts'));
  const named = new Set(namedTests(page).map(({ file }) => file));
  // That one is about the other tests.
  const missing = groups.filter(
    (name) => name !== 'weaknesses.test.ts' && !named.has(`tests/attacks/${name}`),
  );
  expect(missing).toEqual([]);
});
