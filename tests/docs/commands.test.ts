import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandTree } from '../../cli/commands/command-tree.ts';
import { readDocument } from './markdown.ts';

/** Pages whose tables say which command of ours stands beside one of theirs. */
const pages = ['clusternet', 'fleet', 'karmada', 'ocm'].map((name) => `docs/coming-from/${name}.md`);

function namedCommands(page: string): string[] {
  return [...readDocument(page).matchAll(/`(rollcall [^`\n]+)`/g)].map(([, text = '']) => text);
}

/** What of a command line the command line does not know: a command, or a flag of it. */
function unknownPart(text: string): string | undefined {
  let command: Command = commandTree();
  const [, ...words] = text.split(' ');
  for (const word of words) {
    if (word.startsWith('-')) {
      const known = command.options.some(({ long, short }) => [long, short].includes(word));
      if (!known) return word;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next) command = next;
    else if (command.commands.length > 0) return word;
  }
  return undefined;
}

test.each([
  { text: 'rollcall frobnicate', want: 'frobnicate' },
  { text: 'rollcall token frobnicate', want: 'frobnicate' },
  { text: 'rollcall approve NAME --frobnicate', want: '--frobnicate' },
  { text: 'rollcall token create --uses 3', want: undefined },
])('of “$text” $want is unknown', ({ text, want }) => {
  expect(unknownPart(text)).toBe(want);
});

test.each(pages)('every command that %s names is one of ours, with these flags', (page) => {
  const named = namedCommands(page);
  expect(named.length).toBeGreaterThan(3);
  expect(named.flatMap((text) => unknownPart(text) ?? [])).toEqual([]);
});
