import type { Command } from 'commander';
import type { RotateFlags } from '../trust/rotate.ts';
import type { TellFlags } from '../trust/tell-addresses.ts';
import type { TrustStatusFlags } from '../trust/trust-status.ts';
import { keysOption, outputOption, withKeys } from './common-flags.ts';

const rotateExamples = `
Examples:
  rollcall trust rotate signing-keys --dry-run     what would happen
  rollcall trust rotate signing-keys               a next generation; the same again a day later drops the former
  rollcall trust rotate service-keys               new users for all services; the same again voids the former ones
  rollcall trust rotate ca                         announce the next CA; the same again a day later switches to it
  rollcall trust rotate reply-key                 at once; agents and tokens follow the link that the old key signs
  rollcall trust rotate operator-keys              the other listed key signs; servers in a cluster start anew

Runs where the keys are: in the directory of \`rollcall up\`, or with --keys that of \`rollcall install hub\`. docs/security/rotate.md says what each key is for.`;

/** What people do with the keys of a hub. */
export function addTrustCommands(program: Command): void {
  const trust = program.command('trust').description('the keys of a hub, on the machine that holds them');
  withKeys(trust.command('status'))
    .description('show every key, what it is good for and until when, and what is rolling over')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (flags: TrustStatusFlags) => {
      const { showTrustStatus } = await import('../trust/trust-status.ts');
      await showTrustStatus(flags);
    });
  trust
    .command('addresses')
    .description(
      'tell agents where the hub is to be reached, ahead of a move; without any, show what they are told',
    )
    .argument('[host:port...]', 'all addresses of the hub, the one that will go among them')
    .addOption(keysOption())
    .option('--dry-run', 'say what would be told, and change nothing')
    .action(async (addresses: string[], flags: TellFlags) => {
      const { tellAddresses } = await import('../trust/tell-addresses.ts');
      await tellAddresses(addresses, flags);
    });
  withKeys(trust.command('rotate'))
    .description('take the next step in replacing a key, without cutting anybody off')
    .argument('<key>', 'signing-keys, service-keys, ca, reply-key or operator-keys')
    .option('--dry-run', 'say what would happen, and change nothing')
    .option('--now', 'also before it is due: whoever has not heard of it yet is cut off')
    .addHelpText('after', rotateExamples)
    .action(async (key: string, flags: RotateFlags) => {
      const { rotate } = await import('../trust/rotate.ts');
      await rotate(key, flags);
    });
}
