import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { dataOfOperations, heldOperationsPlace } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestControlPlane, type TestControlPlane } from '../../tests/harness/control-plane.ts';
import { findBinary } from '../up/binaries.ts';

const cli = join(import.meta.dirname, '..');
let plane: TestControlPlane;
let directory: string;
let env: NodeJS.ProcessEnv;

/** As an installation has them: on PATH, under their names. */
beforeAll(async () => {
  plane = await startTestControlPlane();
  directory = mkdtempSync(join(tmpdir(), 'rollcall-completion-'));
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'rollcall'), `#!/bin/sh\nexec "${process.execPath}" "${cli}/main.ts" "$@"\n`);
  chmodSync(join(bin, 'rollcall'), 0o755);
  for (const name of ['kubectl-rollcall', 'kubectl_complete-rollcall']) {
    symlinkSync(join(cli, 'bin', `${name}.ts`), join(bin, name));
  }
  symlinkSync(findBinary('kubectl'), join(bin, 'kubectl'));
  const path = [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  env = { PATH: path, HOME: directory, KUBECONFIG: plane.plane.adminKubeconfigPath };
  await plane.admin.create(resources.managedClusterSets, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name: 'sites' },
    spec: {},
  } as KubeObject);
  await plane.admin.create(resources.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'elsewhere' },
  });
  for (const [namespace, name] of [
    ['rollcall-join', 'here'],
    ['elsewhere', 'there'],
  ] as const)
    await plane.admin.create(resources.clusterRegistrationTokens, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ClusterRegistrationToken',
      metadata: { name, namespace },
      spec: { publish: true },
    } as KubeObject);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function shell(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env, cwd: directory });
  return stdout;
}

const bashCompletes = (...words: string[]) =>
  shell(`source <(rollcall completion bash)
    COMP_WORDS=(rollcall ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
    _rollcall; printf '%s\\n' "\${COMPREPLY[@]}"`);

test('bash completes commands, kinds and the names on the hub', async () => {
  expect(await bashCompletes('token', 'de')).toBe('delete\n');
  expect(await bashCompletes('get', 'set')).toBe('sets\n');
  expect(await bashCompletes('get', 'sets', 'si')).toBe('sites\n');
  // As bash splits it.
  expect(await bashCompletes('get', 'sets', '--output', '=', 'wi')).toBe('wide\n');
});

test('tokens are completed where the command looks for them, and kinds by all their names', async () => {
  for (const command of [
    ['token', 'delete'],
    ['token', 'renew'],
    ['get', 'rct'],
  ]) {
    expect(await bashCompletes(...command, '')).toBe('here\n');
    expect(await bashCompletes(...command, '-n', 'elsewhere', '')).toBe('there\n');
  }
  expect(await bashCompletes('get', 'managedclusterset.rollcall.dev', '')).toBe('sites\n');
  expect(await bashCompletes('audit', '--token', '')).toBe('there\nhere\n');
  expect(await bashCompletes('token', 'create', '--cluster-set', '')).toBe('sites\n');
});

test('the id of operations that are held is completed', async () => {
  expect(await bashCompletes('confirm', '')).toBe('\n');
  const operation = { cluster: 'edge-1', clusterId: 'id', operation: 'leaving', by: 'anna', digest: 'd' };
  await plane.admin.apply(
    resources.configMaps,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: heldOperationsPlace,
      data: dataOfOperations({ held: { id: 'held-1', limit: 5, operations: [operation] } }),
    } as KubeObject,
    { force: true },
  );
  expect(await bashCompletes('confirm', 'he')).toBe('held-1\n');
  expect(await bashCompletes('confirm', 'held-1', '')).toBe('\n');
});

const isOnPath = (name: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));

/** What the word at the cursor can become, as fish itself computes it. */
const fishCompletes = async (line: string) => {
  const script = `rollcall completion fish | source; complete -C '${line}'`;
  return (await promisify(execFile)('fish', ['-N', '-c', script], { env, cwd: directory })).stdout;
};

test.skipIf(!isOnPath('fish'))('fish, where it is installed, completes the same', async () => {
  expect(await fishCompletes('rollcall token de')).toMatch(/^delete\ttake tokens back/);
  expect(await fishCompletes('rollcall get se')).toBe('sets\n');
  expect(await fishCompletes('rollcall get sets ')).toBe('sites\n');
  expect(await fishCompletes('rollcall get sets --output=wi')).toBe('--output=wide\n');
  expect(await fishCompletes('rollcall get sets --output wi')).toBe('wide\n');
  expect(await fishCompletes('rollcall policy check ./bi')).toBe('./bin/\n');
  expect(await fishCompletes('rollcall get sets --kubeconfig=./bi')).toBe('--kubeconfig=./bin/\n');
  expect(await fishCompletes('rollcall get sets nobody')).toBe('');
});

/** A zsh at a terminal of its own, in which Tab is pressed after each line; then Ctrl-T says what stands there. */
const zshDriver = `zmodload zsh/zpty
zpty z zsh -i
zpty -r z seen '*READY*'
for line in "$@"; do zpty -w -n z "$line"$'\t\x14\x15'; done
zpty -w z exit
while zpty -r z seen; do :; done`;
const zshStart = `autoload -Uz compinit; compinit -u -D
source <(rollcall completion zsh)
show() { print -r -- "$BUFFER" >> shown; }
zle -N show; bindkey '^T' show; bindkey '^I' complete-word
PS1=READY`;

async function zshCompletes(lines: readonly string[]): Promise<string[]> {
  writeFileSync(join(directory, '.zshrc'), zshStart);
  await promisify(execFile)('zsh', ['-f', '-c', zshDriver, 'zsh', ...lines], {
    env: { ...env, TERM: 'xterm' },
    cwd: directory,
  });
  return readFileSync(join(directory, 'shown'), 'utf8').split('\n');
}

test.skipIf(!isOnPath('zsh'))('zsh, where it is installed, completes the same', async () => {
  const typed = [
    'rollcall token de',
    'rollcall get sets si',
    'rollcall get sets --output=wi',
    'rollcall get sets --output wi',
    'rollcall get sets --kubeconfig=bi',
  ];
  expect(await zshCompletes(typed)).toEqual([
    'rollcall token delete ',
    'rollcall get sets sites ',
    'rollcall get sets --output=wide ',
    'rollcall get sets --output wide ',
    'rollcall get sets --kubeconfig=bin/',
    '',
  ]);
});

test('a hub that is away completes nothing, and ends well', async () => {
  const { stdout } = await promisify(execFile)('rollcall', ['__complete', 'cordon', ''], {
    env: { ...env, KUBECONFIG: join(directory, 'none') },
    cwd: directory,
  });
  expect(stdout).toBe(':4\n');
});

test('the real kubectl runs the plugin and completes through it', async () => {
  expect(await shell('kubectl rollcall version')).toBe(`${rollcallVersion}\n`);
  expect(await shell('kubectl __complete rollcall get set 2>/dev/null')).toBe('sets\n:4\n');
  expect(await shell('kubectl __complete rollcall get sets si 2>/dev/null')).toBe('sites\n:4\n');
});

test('no other shell', async () => {
  const failure = await shell('rollcall completion tcsh').catch(
    (error: { code: number; stderr: string }) => error,
  );
  expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining('bash, zsh, fish') });
});
