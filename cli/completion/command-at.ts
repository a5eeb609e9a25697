import type { Command, Option } from 'commander';

/** Where in the command line the cursor is. */
export interface CommandAt {
  readonly command: Command;
  /** `token delete`; empty for the program itself. */
  readonly path: string;
  /** Arguments that are complete, without flags. */
  readonly given: readonly string[];
  /** The flag whose value is being typed. */
  readonly option: Option | undefined;
  /** Values of flags that were given, by name of the flag's attribute (`kubeconfig`). */
  readonly flags: Readonly<Record<string, string>>;
  /** What is typed so far of the word at the cursor. */
  readonly typed: string;
}

function takesValue(option: Option | undefined): option is Option {
  return option !== undefined && (option.required || option.optional);
}

function findOption(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => long === flag || short === flag);
}

function findSubcommand(command: Command, name: string): Command | undefined {
  return command.commands.find((one) => one.name() === name || one.aliases().includes(name));
}

/**
 * Walks the words as commander would.
 * @param words - after the program's name; the last one is what is being typed, perhaps empty
 */
export function commandAt(program: Command, words: readonly string[]): CommandAt {
  // bash splits `--output=json` into three words.
  const all = words.filter((word, index) => word !== '=' || index === words.length - 1);
  const last = all.at(-1) ?? '';
  let typed = last === '=' ? '' : last;
  let command = program;
  let pending: Option | undefined;
  const path: string[] = [];
  const given: string[] = [];
  const flags: Record<string, string> = {};
  for (const word of all.slice(0, -1)) {
    if (pending) {
      flags[pending.attributeName()] = word;
      pending = undefined;
    } else if (word.startsWith('-')) {
      const [flag = '', ...value] = word.split('=');
      const option = findOption(command, flag);
      if (!takesValue(option)) continue;
      if (value.length > 0) flags[option.attributeName()] = value.join('=');
      else pending = option;
    } else {
      const next = given.length === 0 ? findSubcommand(command, word) : undefined;
      if (next) {
        command = next;
        path.push(next.name());
      } else given.push(word);
    }
  }
  // zsh and fish leave `--output=js` in one word.
  const joined = pending === undefined ? /^(--[a-z-]+)=(.*)$/.exec(typed) : null;
  const option = pending ?? (joined?.[1] === undefined ? undefined : findOption(command, joined[1]));
  if (joined) typed = joined[2] ?? '';
  return { command, path: path.join(' '), given, option, flags, typed };
}
