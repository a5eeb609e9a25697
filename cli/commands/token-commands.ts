import { type Command, Option } from 'commander';
import type { CreateTokenFlags } from '../token/create-token.ts';
import type { RenewTokenFlags } from '../token/renew-token.ts';
import type { DeleteTokenFlags } from '../decide/delete-token.ts';
import type { GetFlags } from '../get/get.ts';
import { doneOption, outputOption, withHub } from './common-flags.ts';

const createExamples = `
Examples:
  rollcall token create --print-register-command             a command to paste at the member
  rollcall token create --cluster-name edge-1 --ttl 1h       for one cluster, within the hour
  rollcall token create --uses 50 --cluster-name 'edge-*'    for a rollout
  rollcall token create --publish --name rollout --wait      the hub makes it, into Secret rollcall-join/rollout

The token is made on this machine and printed once, on stdout; the hub keeps only its public key. With --publish the hub
makes it, and nobody sees it here: the Secret has Helm values (key values) and the register command (key command).`;

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('tokens that allow clusters to ask to join');
  withHub(token.command('create'))
    .description('make a token and print it once')
    .option('--print-register-command', 'print the command that registers a cluster with it')
    .option('--ttl <duration>', 'how long it may be used', '24h')
    .option('--uses <count>', 'how many clusters may ask with it: a number, or unlimited', '1')
    .option('--cluster-name <pattern>', 'name that the cluster must have; * and ? stand for others')
    .option('--client-id <id>', 'the only client id that may use it')
    .option('--labels <key=value,...>', 'labels that a cluster gets which comes in with it')
    .option('--allow-labels <pattern,...>', 'keys of labels that the agent may ask for; none by default')
    .option('--cluster-set <name>', 'set that the cluster joins; you need the right to let clusters join it')
    .option('--description <text>', 'what it is for')
    .option('--publish', 'let the hub make the token and put it into a Secret of the same name')
    .option('--name <name>', 'of the token (default: token-, then something random)')
    .option('-n, --namespace <name>', 'where the token is kept on the hub', 'rollcall-join')
    .option('--wait', 'end once clusters may ask with it; 6 when that is not so within --timeout')
    .option('--timeout <duration>', 'how long --wait waits', '30s')
    .option('--dry-run', 'ask the hub whether it would take it, and make none')
    .addOption(
      new Option(
        '-o, --output <format>',
        'name, end, uses; of a token made here also token and command',
      ).choices(['json', 'yaml', 'name']),
    )
    .addHelpText('after', createExamples)
    .action(async (flags: CreateTokenFlags) => {
      const { createToken } = await import('../token/create-token.ts');
      await createToken(flags);
    });

  withHub(token.command('list'))
    .alias('ls')
    .description('show tokens, never their secrets')
    .option('-n, --namespace <name>', 'of this namespace only')
    .addOption(outputOption('table', 'wide', 'json', 'yaml', 'name'))
    .action(async (flags: GetFlags) => {
      const { get } = await import('../get/get.ts');
      await get('tokens', [], flags);
    });

  withHub(token.command('renew'))
    .description('make tokens good again that were made before the hub was restored from a backup')
    .argument('<names...>', 'as `rollcall token list` shows them')
    .option('-n, --namespace <name>', 'where they are kept', 'rollcall-join')
    .option('--dry-run', 'ask the hub whether you may, and change nothing')
    .addOption(doneOption())
    .action(async (names: string[], flags: RenewTokenFlags) => {
      const { renewTokens } = await import('../token/renew-token.ts');
      await renewTokens(names, flags);
    });

  withHub(token.command('delete'))
    .alias('rm')
    .description('take tokens back: nobody can ask to join with them any more')
    .argument('<names...>', 'as `rollcall token list` shows them, or the tokens themselves')
    .option('-n, --namespace <name>', 'where they are kept', 'rollcall-join')
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'ask the hub whether you may, and delete nothing')
    .addOption(doneOption())
    .action(async (names: string[], flags: DeleteTokenFlags) => {
      const { deleteTokens } = await import('../decide/delete-token.ts');
      await deleteTokens(names, flags);
    });
}
