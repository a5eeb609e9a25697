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
