import type { Command } from 'commander';
import type { CheckFlags } from '../policy/check-policy.ts';
import type { ExplainFlags } from '../policy/explain-policy.ts';
import type { TryFlags } from '../policy/try-policy.ts';
import { outputOption, withBus } from './common-flags.ts';

const examples = `
Examples:
  rollcall policy check policies.yaml                  what the hub would say of it, without a hub
  rollcall policy check policies.yaml --context hub    also whether the sets that it gives are there
  rollcall policy explain edge-1                       each rule, what it read, what it gave, which one decided
  rollcall policy try policies.yaml --since 30d        what would have been decided differently`;

export function addPolicyCommands(program: Command): void {
  const policy = program
    .command('policy')
    .description('check approval policies, explain decisions, try changes')
    .addHelpText('after', examples);

  policy
    .command('check')
    .description('say what is wrong with ApprovalPolicies in files; needs no hub')
    .argument('<files...>', 'YAML, with one or more objects')
    .option('--kubeconfig <file>', 'also look whether the sets that they give are on this hub')
    .option('--context <name>', 'the same, on the hub of this context')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (files: string[], flags: CheckFlags) => {
      const { checkPolicies } = await import('../policy/check-policy.ts');
      await checkPolicies(files, flags);
    });

  withBus(policy.command('explain'))
    .description('say what each rule gave for a request, then and now')
    .argument('<id|name>', 'as `rollcall get requests` shows it')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (target: string, flags: ExplainFlags) => {
      const { explainRequest } = await import('../policy/explain-policy.ts');
      await explainRequest(target, flags);
    });

  withBus(policy.command('try'))
    .description('judge past requests by changed policies, and say what would have been decided differently')
    .argument('<file>', 'policies that take the place of those in force with the same names')
    .option('--since <when>', 'requests not older than a duration (30d) or a time (RFC 3339)', '30d')
    .addOption(outputOption('text', 'json', 'yaml', 'name'))
    .action(async (file: string, flags: TryFlags) => {
      const { tryPolicyFile } = await import('../policy/try-policy.ts');
      await tryPolicyFile(file, flags);
    });
}
