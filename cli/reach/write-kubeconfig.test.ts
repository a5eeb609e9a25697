import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { merge } from './write-kubeconfig.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-own-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** kubectl, as far as it is asked. */
function kubectl() {
  const asked: { args: readonly string[]; files: readonly string[] }[] = [];
  const ask = async (args: readonly string[], kubeconfig = '') => {
    asked.push({ args, files: kubeconfig.split(delimiter) });
    return 'merged';
  };
  return { ask, asked };
}

test('of several kubeconfigs only the one that is written to is read, so that it gets nothing of the others', async () => {
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const { ask, asked } = kubectl();
  expect(await merge('added', { ask, env: { KUBECONFIG: [first, second].join(delimiter) } })).toBe(first);
  expect(readFileSync(first, 'utf8')).toBe('merged');
  expect(asked.map(({ files }) => files.slice(1))).toEqual([[first]]);
});

test('files that a kubeconfig names stay named: they are replaced by others now and then', async () => {
  const { ask, asked } = kubectl();
  await merge('added', { ask, env: { KUBECONFIG: join(folder, 'first') } });
  expect(asked.map(({ args }) => args)).toEqual([['config', 'view', '--raw']]);
});

test('a kubeconfig that is a link stays one: what it leads to is written', async () => {
  const [link, kept] = [join(folder, 'link'), join(folder, 'kept')];
  writeFileSync(kept, 'before');
  symlinkSync(kept, link);
  await merge('added', { ask: kubectl().ask, env: { KUBECONFIG: link } });
  expect(readFileSync(kept, 'utf8')).toBe('merged');
  expect(readFileSync(link, 'utf8')).toBe('merged');
});
