import type { Command } from 'commander';
import type { HubFlags } from '../hub-access.ts';
import type { CredentialsFlags } from '../reach/exec-credential.ts';
import type { KubeconfigFlags } from '../reach/write-kubeconfig.ts';
import { withHub } from './common-flags.ts';

const kubectlExamples = `
Examples:
  rollcall kubectl edge-1 -- get pods -A
  rollcall kubectl edge-1 -- logs -f deployment/web

Its owner decides who of the hub gets in, and as whom (docs/member-access.md).`;

const kubeconfigExamples = `
Examples:
  rollcall kubeconfig edge-1 > edge-1.kubeconfig     your credentials for the hub are in it
  rollcall kubeconfig --all --merge                  a context rollcall-NAME for each member, in your own kubeconfig`;

const credentialsExamples = `
Tools run it by what they call its configuration; that of the libraries of SIG Multicluster:
  {"providers": [{"name": "rollcall", "execConfig": {
    "apiVersion": "client.authentication.k8s.io/v1", "command": "rollcall", "args": ["credentials"],
    "provideClusterInfo": true, "interactiveMode": "Never"}}]}

The token is for the hub, whose RBAC decides; it is given for members of that hub only (docs/fleet-as-objects.md).`;

/** Working in members by way of the hub. */
export function addReachCommands(program: Command): void {
  withHub(program.command('kubectl'))
    .description('run kubectl on a member, by way of the hub')
    .argument('<name>', 'of the cluster')
    .argument('[args...]', 'of kubectl, after --')
    .addHelpText('after', kubectlExamples)
    .action(async (name: string, args: string[], flags: HubFlags) => {
      const { runKubectl } = await import('../reach/run-kubectl.ts');
      await runKubectl(name, args, flags);
    });

  withHub(program.command('kubeconfig'))
    .description('write contexts for members, by way of the hub')
    .argument('[names...]', 'of clusters')
    .option('--set <name>', 'the clusters of this set')
    .option('--all', 'all clusters')
    .option('--merge', 'into the kubeconfig that kubectl uses, instead of printing')
    .addHelpText('after', kubeconfigExamples)
    .action(async (names: string[], flags: KubeconfigFlags) => {
      const { writeKubeconfig } = await import('../reach/write-kubeconfig.ts');
      await writeKubeconfig(names, flags);
    });

  withHub(program.command('credentials'))
    .description('credential plugin for tools that reach members by ClusterProfiles')
    .option('--token-file <file>', "token of the tool's own ServiceAccount (default: that of the pod)")
    .option(
      '--service-account <namespace/name>',
      'have the hub make a token for this ServiceAccount, with --kubeconfig',
    )
    .option('--hub <url>', "the hub's API server as ClusterProfiles have it (default: as it is reached here)")
    .addHelpText('after', credentialsExamples)
    .action(async (flags: CredentialsFlags) => {
      const { printCredential } = await import('../reach/exec-credential.ts');
      await printCredential(flags);
    });
}
