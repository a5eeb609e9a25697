import { type Command, Option } from 'commander';
import type { ImportFlags } from '../import/import-clusters.ts';
import { collect, outputOption, withHub } from './common-flags.ts';

const examples = `
Examples:
  kubectl get managedclusters.cluster.open-cluster-management.io -o yaml | rollcall import --from ocm -f -
  rollcall import --from karmada --from-kubeconfig karmada.kubeconfig             what would be made
  rollcall import --from karmada --from-kubeconfig karmada.kubeconfig --apply     make it

Each becomes a ManagedCluster that is there before its agent comes, with id, labels and set. The other hub is only read, and
no Secret of it; sets of Open Cluster Management are made too. Nobody is let in: that takes a token that names the cluster.`;

/** Clusters that another system has. */
export function addImportCommands(program: Command): void {
  withHub(program.command('import'))
    .description('read the clusters of another system and make predefined clusters of them')
    .addOption(
      new Option('--from <system>', 'whose clusters they are')
        .choices(['clusternet', 'fleet', 'karmada', 'ocm'])
        .makeOptionMandatory(),
    )
    .option(
      '-f, --filename <file>',
      'YAML or JSON with its cluster objects; - is stdin (repeatable)',
      collect,
    )
    .option('--from-kubeconfig <file>', 'kubeconfig of its hub')
    .option('--from-context <name>', 'context of its hub')
    .option('--apply', 'make them; without it nothing is changed')
    .addOption(outputOption('text', 'json', 'yaml'))
    .addHelpText('after', examples)
    .action(async (flags: ImportFlags) => {
      const { importClusters } = await import('../import/import-clusters.ts');
      await importClusters(flags);
    });
}
