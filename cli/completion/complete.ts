import type { Command, Option } from 'commander';
import { printResult } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { type CommandAt, commandAt } from './command-at.ts';
import { type Candidate, type LiveKind, liveKindOf, liveNames } from './live-names.ts';
import { shells } from './shell-scripts.ts';

/** What a shell does with the answer; the numbers are those of cobra, because kubectl reads them from plugins. */
const directives = { files: 0, noFiles: 4 } as const;

const kindWords = ['clusters', 'requests', 'tokens', 'policies', 'sets', 'operations'];

const services = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
];

/** Names that stand as arguments, by command. */
const liveArguments: Readonly<Record<string, readonly LiveKind[]>> = {
  approve: ['request'],
  deny: ['request'],
  'policy explain': ['request'],
  cordon: ['cluster'],
  uncordon: ['cluster'],
  revoke: ['cluster'],
  ban: ['cluster'],
  unban: ['cluster'],
  rotate: ['cluster'],
  show: ['cluster'],
  unregister: ['cluster'],
  'token delete': ['token'],
  'token renew': ['token'],
  confirm: ['operation'],
};
/** Of these, any number may be named. */
const manyArguments = new Set(['token delete', 'token renew']);
const wordArguments: Readonly<Record<string, readonly string[]>> = {
  get: kindWords,
  describe: ['cluster', 'request'],
  serve: [...services, 'agent-host'],
  'trust rotate': ['signing-keys', 'service-keys', 'ca', 'reply-key', 'operator-keys'],
  completion: shells,
};
const fileArguments = new Set(['policy check', 'policy try', 'backup', 'restore']);

/** Names that stand as values of flags. */
const liveFlags: Readonly<Record<string, readonly LiveKind[]>> = {
  '--cluster': ['cluster'],
  '--cluster-set': ['set'],
};

/** Where commands look for a token that is named. */
const tokenNamespace = 'rollcall-join';

export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly directive: (typeof directives)[keyof typeof directives];
}

const plain = (values: readonly string[]): Candidate[] => values.map((value) => ({ value, description: '' }));
const words = (candidates: readonly Candidate[]): Completion => ({
  candidates,
  directive: directives.noFiles,
});

async function valuesOf(option: Option, at: CommandAt): Promise<Completion> {
  if (option.argChoices) return words(plain(option.argChoices));
  if (/<(file|dir|directory)>/.test(option.flags)) return { candidates: [], directive: directives.files };
  const kinds =
    at.path === 'audit' && option.long === '--token' ? (['token'] as const) : liveFlags[option.long ?? ''];
  return words(kinds ? await liveNames(kinds, at.flags) : []);
}

function flagsOf(command: Command): Candidate[] {
  const shown = command.options.filter(({ hidden, long }) => !hidden && long);
  return [
    ...shown.map(({ long, description }) => ({ value: long ?? '', description })),
    { value: '--help', description: 'display help for command' },
  ];
}

async function argumentsAt({ path, given, flags }: CommandAt): Promise<Completion> {
  if (fileArguments.has(path)) return { candidates: [], directive: directives.files };
  const first = given.length === 0 ? wordArguments[path] : undefined;
  if (first) return words(plain(first));
  const used = new Set(given);
  const kinds: readonly LiveKind[] =
    path === 'get'
      ? [liveKindOf(given[0] ?? '') ?? []].flat()
      : path === 'describe' && given.length === 1
        ? ['cluster', 'request']
        : manyArguments.has(path) || given.length === 0
          ? (liveArguments[path] ?? [])
          : [];
  const names = kinds.length === 0 ? [] : await liveNames(kinds, { namespace: tokenNamespace, ...flags });
  return words(names.filter(({ value }) => !used.has(value)));
}

/** What can stand at the cursor. @param line - the words after the program's name, the last one as typed so far */
export async function completionsAt(program: Command, line: readonly string[]): Promise<Completion> {
  const at = commandAt(program, line);
  const { command, option, typed } = at;
  const found =
    option !== undefined
      ? await valuesOf(option, at)
      : typed.startsWith('-')
        ? words(flagsOf(command))
        : command.commands.length > 0
          ? words(command.commands.map((one) => ({ value: one.name(), description: one.description() })))
          : await argumentsAt(at);
  // One name may be a cluster's and a request's.
  const unique = new Map(found.candidates.map((candidate) => [candidate.value, candidate]));
  const candidates = [...unique.values()].filter(({ value }) => value.startsWith(typed));
  return { ...found, candidates };
}

/** `__complete WORD…`: one candidate a line, a tab and what it is; the last line tells the shell whether files fit too. */
export async function printCompletions(program: Command, line: readonly string[]): Promise<void> {
  const { candidates, directive } = await completionsAt(program, line);
  for (const { value, description } of candidates) {
    printResult(description === '' ? printable(value) : `${printable(value)}\t${printable(description)}`);
  }
  printResult(`:${directive}`);
}
