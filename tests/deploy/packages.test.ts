import { builtinModules } from 'node:module';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rollcallVersion } from '@rollcall/shared/service';

const repository = join(import.meta.dirname, '..', '..');
const packages = [
  'libs/shared',
  'agent',
  'cli',
  'console',
  ...readdirSync(join(repository, 'services')).map((name) => `services/${name}`),
].filter((folder) => !folder.endsWith('.md'));

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function packageOf(folder: string): PackageFile {
  return JSON.parse(readFileSync(join(repository, folder, 'package.json'), 'utf8')) as PackageFile;
}

/** Package names that a folder's code imports, types too; tests do not count, nor does the page, which is bundled. */
function importsOf(folder: string): string[] {
  const files = readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.ts') && !/\.test\.ts$|(^|\/)tests\/|^page\/|node_modules|\.builder\.ts$/.test(file),
  );
  const names = files.flatMap((file) => {
    const text = readFileSync(join(repository, folder, file), 'utf8');
    const found = text.matchAll(/^(?:import|export)\s[^;]*?from '([^'.][^']*)';|import\('([^'.][^']*)'\)/gm);
    return [...found].map((match) => match[1] ?? match[2] ?? '');
  });
  return [
    ...new Set(
      names.map((name) =>
        name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] ?? ''),
      ),
    ),
  ].filter((name) => !name.startsWith('node:') && !builtinModules.includes(name));
}

test.each(packages)('%s names every package that it imports, and no other', (folder) => {
  const { name, dependencies = {} } = packageOf(folder);
  const imported = importsOf(folder).filter((imported_) => imported_ !== name);
  expect(Object.keys(dependencies).toSorted()).toEqual(imported.toSorted());
});

test.each(packages)('%s has the version that the code says', (folder) => {
  expect(packageOf(folder).version).toBe(rollcallVersion);
});

test('services never import each other', () => {
  const folders = packages.filter((folder) => folder.startsWith('services/'));
  const services = new Set(folders.map((folder) => packageOf(folder).name));
  for (const folder of folders) {
    const others = importsOf(folder).filter((name) => services.has(name) && name !== packageOf(folder).name);
    expect(others).toEqual([]);
  }
});
