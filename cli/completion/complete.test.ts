import { expect, test } from 'vitest';
import { commandTree } from '../commands/command-tree.ts';
import { completionsAt } from './complete.ts';

const at = async (...line: string[]) => {
  const { candidates, directive } = await completionsAt(commandTree(), line);
  return { values: candidates.map(({ value }) => value), directive };
};

test.each([
  { name: 'a command', line: ['unc'], want: ['uncordon'] },
  { name: 'a command below a command', line: ['token', 'de'], want: ['delete'] },
  { name: 'a kind', line: ['get', 'cl'], want: ['clusters'] },
  { name: 'a kind after a flag with a value', line: ['get', '-o', 'wide', 'po'], want: ['policies'] },
  { name: 'a flag', line: ['get', '--wat'], want: ['--watch'] },
  { name: 'the value of a flag', line: ['get', 'clusters', '-o', 'y'], want: ['yaml'] },
  { name: 'the same in one word', line: ['get', 'clusters', '--output=y'], want: ['yaml'] },
  { name: 'the same as bash splits it', line: ['get', 'clusters', '--output', '=', 'y'], want: ['yaml'] },
  { name: 'a service', line: ['serve', 'acc'], want: ['account-controller'] },
  { name: 'the agents that a hub runs', line: ['serve', 'agent'], want: ['agent-host'] },
  { name: 'operations', line: ['get', 'o'], want: ['operations'] },
  { name: 'a key', line: ['trust', 'rotate', 'op'], want: ['operator-keys'] },
  { name: 'a shell', line: ['completion', ''], want: ['bash', 'zsh', 'fish'] },
  { name: 'nothing that exists', line: ['frobnicate', 'x'], want: [] },
])('completes $name', async ({ line, want }) => {
  expect(await at(...line)).toEqual({ values: want, directive: 4 });
});

test('hidden names are not offered, and everything else of the first level is', async () => {
  const { values } = await at('');
  expect(values).toEqual(commandTree().commands.map((command) => command.name()));
  expect((await at('get', '--karm')).values).toEqual([]);
});

test.each([
  { line: ['policy', 'check', ''] },
  { line: ['get', 'clusters', '--kubeconfig', ''] },
  { line: ['restore', ''] },
  { line: ['backup', ''] },
  { line: ['restore', '--state-dir', ''] },
])('files are left to the shell: $line', async ({ line }) => {
  expect(await at(...line)).toEqual({ values: [], directive: 0 });
});
