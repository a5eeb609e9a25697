import { type Command } from 'commander';
import type { DescribeFlags } from '../describe/describe-cluster.ts';
import { outputOption, withBus } from './common-flags.ts';

/** What operations look at and do: describe, cordon, audit, status, doctor, top … */
export function addOperationsCommands(program: Command): void {
  withBus(program.command('describe'))
    .description('say who a cluster is, who let it in and why, whether it is alive, and what to do')
    .argument('<kind>', 'cluster; a request that is no cluster yet is found by it as well')
    .argument('<name|id>', 'as `rollcall get clusters` or `get requests` shows it')
    .option('--all', 'the whole timeline')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (kind: string, target: string, flags: DescribeFlags) => {
      const { describeCluster } = await import('../describe/describe-cluster.ts');
      await describeCluster(kind, target, flags);
    });
}
