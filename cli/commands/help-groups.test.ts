import { expect, test } from 'vitest';
import { commandTree } from './command-tree.ts';

const help = commandTree()
  .configureOutput({ getOutHelpWidth: () => 80 })
  .helpInformation();

test('`rollcall --help` lists every command in a group, on a line of its own', () => {
  expect([...help.matchAll(/^[A-Z]\w+:$/gm)].map(String)).toEqual([
    'Options:',
    'Start:',
    'Decide:',
    'Watch:',
    'Operate:',
    'Install:',
  ]);
  const listed = [...help.matchAll(/^ {2}([a-z]+)(?:, \w+)? {2,}\S/gm)].map(([, name]) => name);
  expect(listed).toEqual([...commandTree().commands.map((command) => command.name()), 'help']);
  expect(help).not.toMatch(/^ {6}/m);
});
