import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubeconfigYaml } from '@rollcall/shared/kubernetes';
import { expect, onTestFinished, test } from 'vitest';

const entry = join(import.meta.dirname, '..', 'main.ts');
/** Says at the end which packages were loaded. */
const listing = `
import { registerHooks } from 'node:module';
const packages = new Set();
registerHooks({
  load(url, context, next) {
    const found = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url);
    if (found) packages.add(found[1]);
    return next(url, context);
  },
});
process.on('exit', () => process.stdout.write(JSON.stringify([...packages])));
`;

/** Each package costs every start of the command its time: what is not needed is not loaded. */
test.each([
  { args: ['get', 'clusters'], want: ['commander', 'yaml'] },
  { args: ['completion', 'bash'], want: ['commander'] },
])('`rollcall $args` loads no package that it does not need', ({ args, want }) => {
  const home = mkdtempSync(join(tmpdir(), 'rollcall-loaded-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [hook, kubeconfig] = [join(home, 'listing.mjs'), join(home, 'kubeconfig')];
  writeFileSync(hook, listing);
  const nobody = { server: 'https://127.0.0.1:1', caPem: undefined, namespace: 'default' };
  const names = { clusterName: 'none', contextName: 'none', userName: 'none' };
  writeFileSync(kubeconfig, kubeconfigYaml({ ...nobody, ...names }));
  const { stdout } = spawnSync(process.execPath, ['--import', hook, entry, ...args], {
    encoding: 'utf8',
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig },
  });
  const loaded = JSON.parse(stdout.slice(stdout.lastIndexOf('['))) as string[];
  expect(loaded.toSorted()).toEqual(want);
});
