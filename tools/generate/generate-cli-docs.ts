import type { Argument, Command, Option } from 'commander';
import { commandTree } from '../../cli/commands/command-tree.ts';
import type { Generated } from './generated-file.ts';

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function argumentText(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? '...' : '');
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionRow({ flags, description, defaultValue, argChoices }: Option): string {
  const choices = argChoices ? `; one of ${argChoices.map((one) => `\`${one}\``).join(', ')}` : '';
  const isShown = defaultValue !== undefined && typeof defaultValue !== 'boolean';
  const standard = isShown ? ` (default: \`${String(defaultValue)}\`)` : '';
  return `| \`${flags.replaceAll('|', '\\|')}\` | ${cell(description)}${choices}${standard} |`;
}

/** The examples that stand below the help of a command. */
function textAfter(command: Command): string {
  let text = '';
  const take = (part: string) => {
    text += part;
    return true;
  };
  command.configureOutput({ writeOut: take, writeErr: take });
  command.outputHelp();
  return text.slice(text.indexOf(command.helpInformation()) + command.helpInformation().length).trim();
}

function section(command: Command, path: string): string[] {
  const children = command.commands.flatMap((child) => section(child, `${path} ${child.name()}`));
  // One that does something itself has flags or arguments.
  const isRun = command.options.length + command.registeredArguments.length > 0;
  if (command.commands.length > 0 && !isRun) return children;
  const args = command.registeredArguments;
  const options = command.options.filter(({ hidden }) => !hidden);
  const usage = `${path} ${command.usage()}`.trimEnd();
  const aliases = command.aliases();
  const after = textAfter(command);
  return [
    [
      `## ${path}`,
      `${sentence(command.description())}${aliases.length > 0 ? ` Also \`${aliases.join('`, `')}\`.` : ''}`,
      '```text\n' + usage + '\n```',
      ...args
        .filter(({ description }) => description)
        .map((argument) => `- \`${argumentText(argument)}\`: ${cell(argument.description)}`),
      ...(options.length > 0
        ? [['| flag | what it does |', '| --- | --- |', ...options.map(optionRow)].join('\n')]
        : []),
      ...(after === '' ? [] : ['```text\n' + after + '\n```']),
    ].join('\n\n'),
    ...children,
  ];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** The reference of the command line, from the same tree that runs it. */
export function cliDocs(): Generated {
  const program = commandTree();
  const sections = program.commands.flatMap((command) => section(command, `rollcall ${command.name()}`));
  const links = sections.map((text) => {
    const title = /^## (.+)$/m.exec(text)?.[1] ?? '';
    return `- [${title}](#${title.replaceAll(' ', '-')})`;
  });
  const text = `# The command line

Derived from \`cli/commands/\` by \`npm run generate\`; do not edit. ${sentence(program.description().replace(/\.$/, ''))}

The result is on stdout, everything else on stderr. Exit codes: 0 done, 2 usage, 3 refused, 4 held, 5 unreachable, 6 timed out,
1 anything else. Colours are for terminals only; \`NO_COLOR\` turns them off. Which hub: \`--kubeconfig\`, KUBECONFIG, the hub of
\`.rollcall/\` (\`ROLLCALL_HOME\`), kubectl's default. Which bus: \`--server\` with \`--creds\` and \`--ca-file\`, \`--nats-context\`
(NATS_CONTEXT), NATS_URL (with NATS_CREDS and NATS_CA), the hub of \`.rollcall/\`, the hub of the kubeconfig. Flags that name the
hub (\`--kubeconfig\`, \`--context\`) name its bus, too, and NATS_… of the environment are not looked at.

${links.join('\n')}

${sections.join('\n\n')}
`;
  // Only this one file: everything else in docs/ is somebody else's.
  return { folder: 'docs', extension: '/cli.md', files: new Map([['cli.md', text]]) };
}
