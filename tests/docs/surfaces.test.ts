import { eventCatalogue } from '@rollcall/shared/events';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandTree } from '../../cli/commands/command-tree.ts';
import { readDocument } from './markdown.ts';

const surfaces = readDocument('docs/surfaces.md');

/** Rows of the table with that head, cells apart. */
function tableAfter(head: string): string[][] {
  const [, rows = ''] = surfaces.split(`${head}\n| --- | --- |\n`);
  const own = rows.slice(0, rows.indexOf('\n\n'));
  return own.split('\n').map((row) => row.split('|').map((cell) => cell.trim()));
}

test('every type of event stands with the service that writes it, and no other', () => {
  const named = tableAfter('| writer | types of events |').map(([, writer = '', types = '']) => {
    const found = [...types.matchAll(/`([^`]+)`/g)].map(([, type = '']) => type);
    return [writer, found.toSorted()] as const;
  });
  const byWriter = Map.groupBy(eventCatalogue, ({ writer }) => writer);
  const written = [...byWriter].map(
    ([writer, events]) => [writer, events.map(({ kind, type }) => `${kind}.${type}`).toSorted()] as const,
  );
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(written));
});

/** `token create` of `token`, or the command itself where it has none below it. */
const leavesOf = (command: Command): string[] =>
  command.commands.length === 0
    ? [command.name()]
    : command.commands.flatMap((each) => leavesOf(each).map((leaf) => `${command.name()} ${leaf}`));

test('every command stands in the list, and no other', () => {
  const { commands } = commandTree();
  const [, list = ''] = /^`rollcall (up [^`]*)`/m.exec(surfaces) ?? [];
  const named = list.split('|').flatMap((item) => {
    const [first = '', ...rest] = item.trim().split(/,? +/);
    const hasBelow = (commands.find((command) => command.name() === first)?.commands.length ?? 0) > 0;
    return hasBelow ? rest.map((word) => `${first} ${word}`) : [first];
  });
  expect(named.toSorted()).toEqual(commands.flatMap(leavesOf).toSorted());
});
