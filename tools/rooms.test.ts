import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..');

/** Code that is shipped or measures: tests, and what only tests use, do not count. */
const product = execFileSync('git', ['ls-files', '*.ts', '*.mjs'], { cwd: repository, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && !/\.test\.ts$|^tests\/|\/tests\/|\.builder\.ts$/.test(path));

/** Folders whose subfolders are rooms, each with one capability. */
const houses = [
  'agent',
  'bench',
  'cli/install',
  'cli/simulate',
  'cli/up',
  'console',
  'console/page/src',
  'console/server',
  'libs/shared/bus',
  'libs/shared/events',
  'libs/shared/kubernetes',
  'libs/shared/service',
  'services/approver',
  'services/heartbeat',
  'services/projector',
  'services/rbac-provisioner',
  'services/registrar',
];

/** The room of a file in a house; undefined for the files that stand above the rooms. */
function roomOf(house: string, path: string): string | undefined {
  const [room, ...rest] = path.slice(house.length + 1).split('/');
  return rest.length > 0 ? room : undefined;
}

/** Which rooms each room imports from, types too. */
function importsOf(house: string): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  for (const path of product.filter((file) => file.startsWith(`${house}/`))) {
    const room = roomOf(house, path);
    const text = readFileSync(join(repository, path), 'utf8');
    for (const [, specifier = ''] of text.matchAll(/(?:from|import\() ?'(\.\.?\/[^']+)'/g)) {
      const target = posix.join(posix.dirname(path), specifier);
      const other = target.startsWith(`${house}/`) ? roomOf(house, target) : undefined;
      if (room === undefined || other === undefined || other === room) continue;
      imports.set(room, (imports.get(room) ?? new Set()).add(other));
    }
  }
  return imports;
}

/** The first way that leads from a room back to itself. */
function circleIn(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const walk = (way: string[]): string[] | undefined => {
    const [first = '', last = first] = [way[0], way.at(-1)];
    for (const next of imports.get(last) ?? []) {
      if (next === first) return [...way, next];
      if (way.includes(next)) continue;
      const found = walk([...way, next]);
      if (found) return found;
    }
    return undefined;
  };
  return [...imports.keys()].map((room) => walk([room])).find((way) => way !== undefined);
}

test.each(houses)('the rooms of %s import each other in one direction', (house) => {
  const imports = importsOf(house);
  expect(product.some((path) => path.startsWith(`${house}/`))).toBe(true);
  expect(circleIn(imports)).toBeUndefined();
});

test('a way that leads back is found', () => {
  const imports = new Map([
    ['a', new Set(['b'])],
    ['b', new Set(['c'])],
    ['c', new Set(['b'])],
  ]);
  expect(circleIn(imports)).toEqual(['b', 'c', 'b']);
});

test('no folder has more than twenty product files', () => {
  const counts = new Map<string, number>();
  for (const path of product) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > 20)).toEqual([]);
});
