import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { pinnedTools, testTools } from './pinned-tools.mjs';
import { isAccepted } from './version-accepted.mjs';

const goMod = (folder: string) =>
  readFileSync(fileURLToPath(new URL(`../go/${folder}/go.mod`, import.meta.url)), 'utf8');

test.each([...pinnedTools, ...testTools])(
  '$name $version is accepted and is what tools/go pins',
  ({ version, accepts, go }) => {
    expect(isAccepted(version, accepts)).toBe(true);
    const lines = goMod(go.folder)
      .split('\n')
      .map((line) => line.trim().split(' '));
    expect(lines.some((words) => words.at(-1) === go.package)).toBe(true);
    const required = lines.filter(([module = '']) => module.includes('/') && go.package.startsWith(module));
    expect(required.map((words) => words[1])).toContain(`v${version}`);
  },
);

test('the staging modules are those of the pinned Kubernetes release', () => {
  const version = pinnedTools.find(({ name }) => name === 'kube-apiserver')?.version ?? '';
  const replaced = [...goMod('kubernetes').matchAll(/^\t(k8s\.io\/\S+) => (\S+) (\S+)$/gm)];
  expect(replaced.length).toBeGreaterThan(0);
  const odd = replaced.filter(([, from, to, of]) => from !== to || of !== version.replace(/^1/, 'v0'));
  expect(odd).toEqual([]);
});
