import { Command } from 'commander';
import { exitCodes } from '../exit-code.ts';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { addBackupCommands } from './backup-commands.ts';
import { addCompletionCommands } from './completion-commands.ts';
import { groupCommands } from './help-groups.ts';
import { addHistoryCommands } from './history-commands.ts';
import { addHubCommands } from './hub-commands.ts';
import { addImportCommands } from './import-commands.ts';
import { addInstallCommands } from './install-commands.ts';
import { addMemberCommands } from './member-commands.ts';
import { addOperationsCommands } from './operations-commands.ts';
import { addPeopleCommands } from './people-commands.ts';
import { addPolicyCommands } from './policy-commands.ts';
import { addReachCommands } from './reach-commands.ts';
import { addTokenCommands } from './token-commands.ts';
import { addTrustCommands } from './trust-commands.ts';

const examples = `
Start here:
  rollcall up                                       a whole hub on this machine, with this cluster registered
  rollcall token create --print-register-command    what to run for the next cluster
  rollcall get clusters                             which clusters there are, and which are alive
  rollcall events --follow                          what happens, as it happens

Exit codes: 0 done, 2 usage, 3 refused, 4 held, 5 unreachable, 6 timed out, 1 anything else.`;

/** `token delete "$TOKEN"` with a variable that holds nothing. */
function refuseEmptyWords(_program: Command, command: Command): void {
  if (command.args.includes(''))
    command.error('error: an argument is empty; a name was meant here', { exitCode: exitCodes.usage });
}

/**
 * Every command with its flags. What a command does is imported when it is run, so that `--help` and `--version` load
 * nothing but this folder.
 */
export function commandTree(): Command {
  const program = new Command('rollcall')
    .description('Registers Kubernetes clusters with a hub, over NATS, and keeps track of which are alive.')
    .version(rollcallVersion, '-V, --version', 'print the version')
    .exitOverride()
    // `get clusters --version v1.36` is a flag of `get`, and what stands behind `events forward` its own.
    .enablePositionalOptions()
    .hook('preAction', refuseEmptyWords)
    .showHelpAfterError('hint: Run the same command with --help to see what it takes.')
    .addHelpText('after', examples);
  addHubCommands(program);
  addTokenCommands(program);
  addMemberCommands(program);
  addInstallCommands(program);
  addPeopleCommands(program);
  addReachCommands(program);
  addOperationsCommands(program);
  addPolicyCommands(program);
  addTrustCommands(program);
  addBackupCommands(program);
  addHistoryCommands(program);
  addImportCommands(program);
  addCompletionCommands(program);
  groupCommands(program);
  return program;
}
