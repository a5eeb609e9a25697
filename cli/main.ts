#!/usr/bin/env node
import { CommanderError } from 'commander';
import { commandTree } from './commands/command-tree.ts';
import { exitCodes } from './exit-code.ts';
import { endQuietlyWithoutReader } from './output.ts';
import { reportError } from './report-error.ts';

endQuietlyWithoutReader();
try {
  await commandTree().parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) {
    // It has said itself what is wrong, or printed the help that was asked for.
    process.exitCode = thrown.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  } else {
    process.exitCode = reportError(thrown);
  }
}
