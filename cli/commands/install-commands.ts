import { type Command, Option } from 'commander';
import type { InstallAgentFlags } from '../install/agent/install-agent.ts';
import type { InstallAllInOneFlags } from '../install/install-all-in-one.ts';
import type { InstallHubFlags } from '../install/hub/install-hub.ts';
import type { UninstallAgentFlags } from '../install/agent/uninstall-agent.ts';
import type { UninstallHubFlags } from '../install/hub/uninstall-hub.ts';
import {
  collect,
  outputOption,
  withHubInCluster,
  withHubPlaces,
  withMember,
  withMemberAccess,
  withNetwork,
} from './common-flags.ts';

const installAgentExamples = `
Examples:
  rollcall install agent --values edge-1.yaml            the \`values\` of a published token are such a file
  rollcall install agent --hub hub.example.org:4222 --token file:token.txt --ca-cert-hash sha256:…
  rollcall install agent --values edge-1.yaml -o yaml    what would be applied, and nothing else

The chart in deploy/charts/agent takes the same values and makes the same objects.`;

const installHubExamples = `
Examples:
  rollcall install hub --advertise hub.example.org:4222
  rollcall install hub --advertise hub.example.org:4222 --only-keys > hub-values.yaml
      makes the Secrets that the chart in deploy/charts/hub expects, and prints its values

The directory with the keys is needed again for every change. It holds the keys that sign: keep it, off this cluster.`;

/** Installing and removing, hubs and agents. */
export function addInstallCommands(program: Command): void {
  const install = program.command('install').description('install a hub, or the agent in a member cluster');
  withHubPlaces(install.command('hub'))
    .description('install a hub in a cluster, or change how it is installed')
    .option('-f, --values <file>', 'values of the chart (YAML); repeatable, the later one wins', collect)
    .option(
      '--advertise <host:port>',
      'address that agents use, wss://HOST:PORT for WebSocket; repeatable. Agents are told of changed ones',
      collect,
    )
    .option(
      '--servers <number>',
      'NATS servers: 1 or 3, which can lose one; set at the first time (default: 1)',
    )
    .option('--keys <directory>', 'where the keys of the hub are kept', '.rollcall-hub')
    .option('--only-keys', 'make the keys and their Secrets, print the values that the chart needs, and stop')
    .option('--image <name>', 'image of the services')
    .addOption(outputOption('text', 'json', 'yaml'))
    .option('--no-wait', 'do not wait until everything runs')
    .option('--timeout <duration>', 'how long to wait until everything runs', '5m')
    .option('--dry-run', 'look at the cluster, say what would be created, changed and deleted, and stop')
    .addHelpText('after', installHubExamples)
    .action(async (flags: InstallHubFlags) => {
      const { installHub } = await import('../install/hub/install-hub.ts');
      await installHub(flags);
    });

  withMemberAccess(withNetwork(withMember(install.command('agent'))))
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
    .option('--dry-run', 'look at the member, say what would be created and changed, and stop')
    .addHelpText('after', installAgentExamples)
    .action(async (flags: InstallAgentFlags) => {
      const { installAgent } = await import('../install/agent/install-agent.ts');
      await installAgent(flags);
    });

  withHubInCluster(install.command('all-in-one'))
    .description('install a hub, and the agent of the same cluster, let in by the person who does it')
    .option('--hub-values <file>', 'values of the chart of the hub (YAML); repeatable', collect)
    .option('--agent-values <file>', 'values of the chart of the agent (YAML); repeatable', collect)
    .option('--advertise <host:port>', 'address that agents use; repeatable', collect)
    .option('--keys <directory>', 'where the keys of the hub are kept', '.rollcall-hub')
    .option('--cluster-name <name>', 'name of this cluster on the hub', 'local')
    .option('--image <name>', 'image of services and agent')
    .option('--timeout <duration>', 'how long to wait for each step', '5m')
    .action(async (flags: InstallAllInOneFlags) => {
      const { installAllInOne } = await import('../install/install-all-in-one.ts');
      await installAllInOne(flags);
    });

  const uninstall = program
    .command('uninstall')
    .description('remove a hub, or the agent from a member cluster');
  withHubPlaces(uninstall.command('hub'))
    .description('remove a hub from a cluster; what it knows stays unless told otherwise')
    .option(
      '--with-data',
      'also the kinds with all of their objects, its history, its keys in the cluster, and its namespaces',
    )
    .option('--dry-run', 'say what would be removed and stop')
    .action(async (flags: UninstallHubFlags) => {
      const { uninstallHub } = await import('../install/hub/uninstall-hub.ts');
      await uninstallHub(flags);
    });

  withMember(uninstall.command('agent'))
    .description('remove the agent from a member; the hub is not told, `rollcall unregister` does that')
    .option(
      '--with-keys',
      'also its keys and the namespace that they lie in: it can then not come back as itself',
    )
    .option('--dry-run', 'say what would be removed and stop')
    .action(async (flags: UninstallAgentFlags) => {
      const { uninstallAgent } = await import('../install/agent/uninstall-agent.ts');
      await uninstallAgent(flags);
    });
}
