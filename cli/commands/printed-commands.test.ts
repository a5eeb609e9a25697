import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { errorCatalogue } from '@rollcall/shared/errors';
import { resources } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { commandTree } from './command-tree.ts';

const root = join(import.meta.dirname, '../..');

/** The command line itself, so that what is typed is parsed as it would be, and nothing is done. */
function typed(words: readonly string[]): string | undefined {
  const program = commandTree();
  const quieten = (command: Command): void => {
    command.exitOverride().configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    // A group of others does nothing by itself, and takes no flags.
    if (command.commands.length === 0 || command.options.length > 0) command.action(() => undefined);
    command.commands.forEach(quieten);
  };
  quieten(program);
  try {
    program.parse([...words], { from: 'user' });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.message;
  }
}

/** As a shell takes a line apart; nothing that we print is quoted otherwise. */
const wordsOf = (line: string) =>
  [...line.matchAll(/'[^']*'|[^\s']+/g)].map(([word]) => word.replaceAll("'", ''));

const verbs = commandTree().commands.flatMap((command) => [command.name(), ...command.aliases()]);
/** Where there are no backticks, a line ends with what no command of ours has in it. `made by rollcall join` is no line. */
const bareLine = new RegExp(
  `(?:^|(?<!\\bby)[ :])rollcall ((?:${verbs.join('|')})\\b(?:(?! {2}| makes )[^\`\n;,()"])*)`,
  'g',
);
const withoutQuotes = (text: string) => text.replaceAll(/\\?`[^`\n]*`/g, '');

/** Lines to paste stand between backticks, and in what Kubernetes shows without them. */
function printedIn(text: string): string[] {
  const inBackticks = [...text.matchAll(/`rollcall ([^`\n]+)`/g)].map(([, line = '']) => line);
  return [...inBackticks, ...bareLinesIn(text)];
}

function bareLinesIn(text: string): string[] {
  const found = [...withoutQuotes(text).matchAll(bareLine)].map(([, line = '']) => line);
  // What ends a sentence, or the text of a program.
  return found.map((line) => line.replace(/['.: ]+$/, ''));
}

/** Lines for other programs, with and without backticks. */
function othersIn(text: string, program: 'kubectl' | 'npm'): string[] {
  const lines = text.matchAll(new RegExp(`(?:^|[ :\`])${program} ([a-z][^\`\n;|()]*)`, 'g'));
  return [...lines].map(([, line = '']) => line.trim());
}

const isComment = (line: string) => /^\s*(\*|\/\/|\/\*)/.test(line);

/** Every text that a file prints: what is in its comments nobody is told. */
function textsOf(path: string): { inText: string[]; inTemplates: string[] } {
  const source = readFileSync(join(root, path), 'utf8')
    .split('\n')
    .filter((line) => !isComment(line))
    .join('\n')
    // What a name is put in for counts as one word; the innermost first: one expression may quote another.
    .replaceAll(/\$\{[^{}]*\}/g, 'X')
    .replaceAll(/\$\{[^{}]*\}/g, 'X');
  const inText = [...source.matchAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g)].map(([text]) => text);
  const inTemplates = [...source.matchAll(/`(?:[^`\\]|\\.)*`/gs)].map(([text]) => text.slice(1, -1));
  return { inText, inTemplates };
}

function printedBy(path: string): string[] {
  const { inText, inTemplates } = textsOf(path);
  const quoted = inTemplates.flatMap((text) =>
    [...text.matchAll(/\\`rollcall ([^`\\\n]+)\\`/g)].map(([, line = '']) => line),
  );
  const bare = inTemplates.flatMap((text) => text.split('\n')).flatMap(bareLinesIn);
  return [...inText.flatMap((text) => printedIn(text.slice(1, -1))), ...quoted, ...bare];
}

function printedForOthers(path: string, program: 'kubectl' | 'npm'): string[] {
  const { inText, inTemplates } = textsOf(path);
  const texts = [...inText.map((text) => text.slice(1, -1)), ...inTemplates];
  return texts.flatMap((text) => othersIn(text.replaceAll('\\`', '`'), program));
}

/** Descriptions name commands there, and tell nobody to run one. */
const describing = ['cli/commands/', 'libs/shared/rights/'];

/** What only has the name of a command: who made something, a title, and the head of a script that a shell reads. */
const noLines: readonly RegExp[] = [
  /^cli\/simulate\/clusters\/fleet\.ts: simulate$/,
  /^cli\/unregister\/unregister\.ts: unregister --force$/,
  /^cli\/top\/frame\.ts: top - /,
  /^cli\/completion\/shell-scripts\.ts: completion for /,
];

function sourceFiles(): string[] {
  const kinds = ['cli', 'services', 'agent', 'libs'].map((folder) => `${folder}/*.ts`);
  const listed = execFileSync('git', ['ls-files', ...kinds], { cwd: root })
    .toString()
    .split('\n');
  return listed
    .filter((path) => path !== '' && !/\.test\.ts$|\/tests\//.test(path))
    .filter((path) => describing.every((folder) => !path.startsWith(folder)));
}

test.each([
  { line: 'ban', want: "missing required argument 'name'" },
  { line: 'approve NAME --frobnicate', want: "unknown option '--frobnicate'" },
  { line: 'token frobnicate', want: "unknown command 'frobnicate'" },
  { line: 'get clusters -o colours', want: "argument 'colours' is invalid" },
  { line: 'backup', want: 'missing required argument' },
])('$line cannot be pasted', ({ line, want }) => {
  expect(typed(wordsOf(line))).toContain(want);
});

test.each(Object.entries(errorCatalogue))(
  'what the hint of %s says to run can be pasted',
  (_code, { hint }) => {
    const wrong = printedIn(hint).map((line) => ({ line, why: typed(wordsOf(line)) }));
    expect(wrong.filter(({ why }) => why !== undefined)).toEqual([]);
  },
);

test('every command line that is printed anywhere can be pasted', () => {
  const printed = sourceFiles()
    .flatMap((path) => printedBy(path).map((line) => ({ path, line })))
    .filter(({ path, line }) => !noLines.some((pattern) => pattern.test(`${path}: ${line}`)));
  expect(printed.length).toBeGreaterThan(50);
  const wrong = printed.map((one) => ({ ...one, why: typed(wordsOf(one.line)) }));
  expect(wrong.filter(({ why }) => why !== undefined)).toEqual([]);
});

test.each([
  {
    text: 'a person decides: rollcall approve edge --replace-key a-b',
    want: ['approve edge --replace-key a-b'],
  },
  { text: 'm, or by `kubectl x`; rollcall confirm ID', want: ['confirm ID'] },
  { text: 'made by rollcall join', want: [] },
  { text: 'run `rollcall status`, or (rollcall get operations)', want: ['status'] },
  { text: 'decides: rollcall frobnicate X', want: [] },
])('without backticks a line is found as well: $text', ({ text, want }) => {
  expect(printedIn(text)).toEqual(want);
});

/** What kubectl takes, of what we ever print: each verb with its flags. */
const kubectlFlags: Readonly<Record<string, readonly string[]>> = {
  'config view': [],
  'config get-contexts': [],
  version: [],
  get: ['-o'],
  describe: [],
  edit: [],
  apply: ['-f'],
  create: ['-f'],
  replace: ['--force', '-f'],
  patch: ['--type', '-p'],
  logs: ['--follow'],
};
const anywhere = ['--kubeconfig', '--context', '--namespace', '-n'];
const withValue = new Set(['--kubeconfig', '--context', '--namespace', '-n', '-o', '-f', '-p']);
const kinds = new Set([
  ...Object.values(resources).flatMap(({ plural, kind, group }) => [
    plural,
    kind.toLowerCase(),
    `${plural}.${group}`,
  ]),
  'pods',
  'storageclass',
]);

/** @returns why kubectl would not take it */
function typedForKubectl(line: string): string | undefined {
  const words = wordsOf(line);
  const flags: string[] = [];
  const plain: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const [flag = ''] = (words[at] ?? '').split('=');
    if (!flag.startsWith('-') || flag === '-') plain.push(words[at] ?? '');
    else {
      flags.push(flag);
      if (withValue.has(flag) && !words[at]?.includes('=')) at++;
    }
  }
  const [verb = '', second = ''] = plain;
  const known = verb in kubectlFlags ? verb : `${verb} ${second}`;
  const taken = kubectlFlags[known];
  if (!taken) return `unknown verb "${verb}"`;
  const wrong = flags.find((flag) => ![...taken, ...anywhere].includes(flag));
  if (wrong !== undefined) return `unknown flag "${wrong}"`;
  const needsKind = ['get', 'describe', 'edit', 'patch'].includes(verb);
  // What the code puts in stands for a kind, too.
  const [kind = ''] = second.split('/');
  return needsKind && !kinds.has(kind) && !/^X\b/.test(kind) ? `unknown kind "${kind}"` : undefined;
}

test.each([
  { line: 'get managedclusters.rollcall.dev', want: undefined },
  { line: 'get managedclusterz', want: 'unknown kind "managedclusterz"' },
  { line: 'patch clusterregistrationrequests.rollcall.dev X --types=merge', want: 'unknown flag "--types"' },
  { line: 'frobnicate X', want: 'unknown verb "frobnicate"' },
])('kubectl $line: $want', ({ line, want }) => {
  expect(typedForKubectl(line)).toBe(want);
});

test('every line for kubectl that is printed anywhere has its verbs, kinds and flags', () => {
  const lines = sourceFiles().flatMap((path) =>
    printedForOthers(path, 'kubectl').map((line) => ({ path, line })),
  );
  expect(lines.length).toBeGreaterThan(8);
  const wrong = lines.map((one) => ({ ...one, why: typedForKubectl(one.line) }));
  expect(wrong.filter(({ why }) => why !== undefined)).toEqual([]);
});

test('every npm script that is printed anywhere is there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const lines = sourceFiles().flatMap((path) => printedForOthers(path, 'npm'));
  expect(lines.length).toBeGreaterThan(1);
  const named = lines.map((line) => wordsOf(line)).map(([verb, name]) => (verb === 'run' ? name : verb));
  expect(named.filter((name) => !Object.hasOwn(scripts, name ?? ''))).toEqual([]);
});

/** Flags that a hint names outside of a line, by the commands that print its code, or that it tells to run. */
const namedOn: Readonly<Record<string, readonly string[]>> = {
  HUB_MISSING: ['get', 'approve', 'status', 'join', 'token create'],
  STATE_NOT_EMPTY: ['restore'],
  BACKUP_WITHOUT_KEYS: ['restore'],
  BACKUP_LOCKED: ['restore'],
  HUB_CA_WRONG: ['register', 'agent run'],
  HUB_CERT_NAME: ['up', 'install hub'],
  HUB_NOT_WEBSOCKET: ['up'],
  PROXY_UNREACHABLE: ['register', 'agent run', 'doctor'],
  PROXY_AUTH: ['register', 'agent run', 'doctor'],
  PROXY_UNTRUSTED: ['register', 'agent run', 'doctor'],
  TOKEN_EXPIRED: ['token create'],
  TOKEN_USED_UP: ['token create'],
  PREDEFINED_BINDING: ['token create'],
  HUB_KEYS_OTHER: ['install hub'],
  MEMBER_OTHER: ['unregister'],
  ROTATION_NOT_DUE: ['trust rotate'],
};
/** Of Helm, whose releases our charts are. */
const ofHelm = new Set(['--set', '--take-ownership']);
/** `--help` is on each; a service has its settings as flags. */
const ofEach = new Set(['--help', '--allow-unsafe-bus']);
const flagPattern = /(?<![\w-])--[a-z][a-z-]*/g;
const flagsOutside = (hint: string) =>
  [...hint.replaceAll(/`(?:rollcall|npm|kubectl) [^`]*`/g, '').matchAll(flagPattern)]
    .map(([flag]) => flag)
    .filter((flag) => !ofEach.has(flag));

function commandNamed(path: string): Command {
  let found: Command = commandTree();
  for (const word of path.split(' ')) {
    const next = found.commands.find((command) => command.name() === word);
    if (!next) throw new Error(`no command "${path}"`);
    found = next;
  }
  return found;
}
const has = (path: string, flag: string) =>
  commandNamed(path).options.some(({ long, hidden }) => long === flag && !hidden);

test('every flag that a hint names is one of the commands that print it, or that it names', () => {
  const wrong = Object.entries(errorCatalogue).flatMap(([code, { hint }]) =>
    flagsOutside(hint).flatMap((flag) => {
      const commands = namedOn[code] ?? [];
      if (commands.length === 0) return [`${code}: ${flag} of which command?`];
      return commands.filter((path) => !has(path, flag)).map((path) => `${code}: ${path} has no ${flag}`);
    }),
  );
  expect(wrong).toEqual([]);
  const unused = Object.keys(namedOn).filter(
    (code) => flagsOutside(errorCatalogue[code as keyof typeof errorCatalogue].hint).length === 0,
  );
  expect(unused).toEqual([]);
});

/** Folders of one or few commands: what is thrown there names no flag that they do not have. */
const commandsOf: Readonly<Record<string, readonly string[]>> = {
  'cli/join/': ['join'],
  'cli/register/': ['register'],
  'cli/unregister/': ['unregister'],
  'cli/token/': ['token create', 'token renew'],
  'cli/backup/': ['backup', 'restore'],
  'cli/verify/': ['verify', 'restore'],
  'cli/history/': ['history archive'],
  'cli/import/': ['import'],
  'cli/events/': ['events'],
  'cli/audit/': ['audit'],
  'cli/describe/': ['describe'],
  'cli/top/': ['top'],
  'cli/decide/': ['approve', 'deny', 'show', 'token delete', 'cordon', 'move', 'cluster label'],
  'cli/policy/': ['policy check', 'policy explain'],
  'cli/install/agent/': ['install agent', 'uninstall agent'],
  'cli/install/hub/': ['install hub', 'uninstall hub'],
};

test('no message names a flag that its command does not have', () => {
  const wrong = sourceFiles().flatMap((path) => {
    const folder = Object.keys(commandsOf).find((start) => path.startsWith(start));
    const commands = commandsOf[folder ?? ''];
    if (!commands) return [];
    const { inText, inTemplates } = textsOf(path);
    // A flag by itself is put together for another command, or parsed.
    const texts = [...inText.map((text) => text.slice(1, -1)), ...inTemplates].filter(
      (text) => /\s/.test(text) && !/^ ?--/.test(text.trim() + ' '),
    );
    const outside = texts
      .map((text) => text.replaceAll(/\\?`(?:rollcall|npm|kubectl|nats) [^`]*`/g, ''))
      .flatMap((text) => text.split('\n'))
      .map((text) => text.replaceAll(/\b(?:rollcall|kubectl|nats|helm) [a-z-].*/g, ''));
    const flags = outside.flatMap((text) => [...text.matchAll(flagPattern)].map(([flag]) => flag));
    return flags
      .filter(
        (flag) => !ofEach.has(flag) && !ofHelm.has(flag) && !commands.some((command) => has(command, flag)),
      )
      .map((flag) => `${path}: ${flag}`);
  });
  expect(wrong).toEqual([]);
});
