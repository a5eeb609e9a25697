import { type Command, Option } from 'commander';
import type { InstallAgentFlags } from '../install/install-agent.ts';
import type { UninstallAgentFlags } from '../install/uninstall-agent.ts';
import { collect, outputOption, withMember, withNetwork } from './common-flags.ts';

const installAgentExamples = `
Examples:
  rollcall install agent --values edge-1.yaml            the \`values\` of a published token are such a file
  rollcall install agent --hub hub.example.org:4222 --token file:token.txt --ca-cert-hash sha256:…
  rollcall install agent --values edge-1.yaml -o yaml    what would be applied, and nothing else

The chart in deploy/charts/agent takes the same values and makes the same objects.`;

/** Installing and removing, in members. */
export function addInstallCommands(program: Command): void {
  const install = program.command('install').description('install the agent in a member cluster');
  withNetwork(withMember(install.command('agent')))
    .description('install the agent in a member, or change how it is installed')
    .option('-f, --values <file>', 'values of the chart (YAML); repeatable, the later one wins', collect)
    .option('--hub <host:port>', 'address of the hub; repeatable', collect)
    .option('--token <token>', 'registration token, or file:PATH (default: ROLLCALL_TOKEN)')
    .option('--ca-cert-hash <sha256:hex>', "hash of the public key of the hub's CA; repeatable", collect)
    .option('--ca-file <file>', "the hub's CA certificate (PEM)")
    .option('--cluster-name <name>', 'name on the hub')
    .option('--client-id <id>', 'identity on the hub (default: the UID of kube-system)')
    .option('--labels <k=v,k=v>', 'labels to ask for; the token says which it allows')
    .addOption(
      new Option('--cluster-type <type>', 'Edge: expected to be away often').choices(['Standard', 'Edge']),
    )
    .option('--image <name>', 'image of the agent')
    .addOption(outputOption('text', 'json', 'yaml'))
    .option('--no-wait', 'do not wait until it runs')
    .option('--timeout <duration>', 'how long to wait until it runs', '2m')
    .option('--dry-run', 'look at the member, say what would be applied, and stop')
    .addHelpText('after', installAgentExamples)
    .action(async (flags: InstallAgentFlags) => {
      const { installAgent } = await import('../install/install-agent.ts');
      await installAgent(flags);
    });

  const uninstall = program.command('uninstall').description('remove the agent from a member cluster');
  withMember(uninstall.command('agent'))
    .description('remove the agent from a member; the hub is not told, `rollcall unregister` does that')
    .option(
      '--with-keys',
      'also its keys and the namespace that they lie in: it can then not come back as itself',
    )
    .option('--dry-run', 'say what would be removed and stop')
    .action(async (flags: UninstallAgentFlags) => {
      const { uninstallAgent } = await import('../install/uninstall-agent.ts');
      await uninstallAgent(flags);
    });
}
