import { CommanderError } from 'commander';
import { exitCodes } from '../exit-code.ts';
import { commandTree } from './command-tree.ts';

/** Runs what the command line asks for; whatever the command throws is the caller's to report. */
export async function runCommandLine(): Promise<void> {
  const [verb, ...words] = process.argv.slice(2);
  if (verb === '__complete') {
    // Half of a command line is no command line: commander must not see it.
    const { printCompletions } = await import('../completion/complete.ts');
    return printCompletions(commandTree(), words);
  }
  try {
    await commandTree().parseAsync();
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    // It has said itself what is wrong, or printed the help that was asked for.
    process.exitCode = thrown.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  }
}
