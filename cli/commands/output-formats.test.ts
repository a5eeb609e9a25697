import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandTree } from './command-tree.ts';

/** What stands for people comes first, and is the default; then what programs read, in one order everywhere. */
const order = ['table', 'text', 'wide', 'json', 'yaml', 'name'];

function* withOutput(command: Command): Generator<{ name: string; formats: string[]; fallback: unknown }> {
  for (const child of command.commands) {
    const option = child.options.find(({ long }) => long === '--output');
    const name = `${command.name()} ${child.name()}`.replace(/^rollcall /, '');
    if (option) yield { name, formats: option.argChoices ?? [], fallback: option.defaultValue };
    yield* withOutput(child);
  }
}
const commands = [...withOutput(commandTree())];

/** Every command that is no group of others. */
function* leaves(command: Command, above = ''): Generator<string> {
  for (const child of command.commands) {
    const name = `${above}${child.name()}`;
    if (child.commands.length === 0) yield name;
    yield* leaves(child, `${name} `);
  }
}

/** They start, stop or install something, write files, or say in words what was done. A new one is to have `-o`, or a reason. */
const withoutOutput = [
  'up',
  'down',
  'register',
  'join',
  'unregister',
  'agent run',
  'agent leave',
  'agent rotate',
  'confirm',
  'kubectl',
  'kubeconfig',
  'credentials',
  'console',
  'events forward',
  'backup',
  'restore',
  'history archive',
  'dead retry',
  'dead drop',
  'trust addresses',
  'trust rotate',
  'context export',
  'install all-in-one',
  'uninstall hub',
  'uninstall agent',
  'serve',
  'completion',
];

test('every other command takes -o', () => {
  const taking = new Set(commands.map(({ name }) => name));
  expect([...leaves(commandTree())].filter((name) => !taking.has(name))).toEqual(withoutOutput);
});

test.each(commands)('$name takes known formats in the usual order: $formats', ({ formats }) => {
  expect(formats).toEqual(order.filter((format) => formats.includes(format)));
  expect(formats).toEqual(expect.arrayContaining(['json', 'yaml']));
});

test.each(commands.filter(({ name }) => name !== 'token create'))(
  '$name is for people unless told otherwise',
  ({ fallback }) => expect(['table', 'text']).toContain(fallback),
);

test('lists also give names', () => {
  const lists = ['get', 'token list', 'audit', 'dead list', 'events', 'policy try'];
  const withNames = commands.filter(({ formats }) => formats.includes('name')).map(({ name }) => name);
  expect(withNames).toEqual(expect.arrayContaining(lists));
});
