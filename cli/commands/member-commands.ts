import { type Command, Option } from 'commander';
import type { AgentLeaveFlags } from '../agent/leave-command.ts';
import type { AgentRotateFlags } from '../agent/rotate-command.ts';
import type { AgentRunFlags } from '../agent/run-agent-command.ts';
import type { JoinFlags } from '../join/join.ts';
import type { RegisterFlags } from '../register/register.ts';
import type { UnregisterFlags } from '../unregister/unregister.ts';
import type { SeveralFlags } from '../decide/act-on-several.ts';
import {
  collect,
  withHosted,
  withHub,
  withMember,
  withMemberAccess,
  withNetwork,
  withSeveral,
} from './common-flags.ts';

const registerExamples = `
Examples:
  rollcall register hub.example.org:4222 --token file:token.txt --ca-cert-hash sha256:… --run
      register the cluster of the current context, and be its agent until Ctrl-C
  ROLLCALL_TOKEN=… rollcall register hub.example.org:4222 --ca-cert-hash sha256:… --manifest | kubectl apply -f -
      install the agent in the member instead

\`rollcall token create --print-register-command\` on the hub prints the whole command. ROLLCALL_TOKEN and
\`--token file:PATH\` keep the token out of process lists; as a flag it stands there until the command has read it.`;

const joinExamples = `
Examples:
  rollcall join edge-1 --member-kubeconfig edge-1.kubeconfig                the hub probes the member; no agent there
  rollcall join edge-1 --member-kubeconfig edge-1.kubeconfig --mode Pull    the hub installs an agent in it
  rollcall join edge-1 --member-context edge-1 --dry-run                    say what would be made, and change nothing

Your own credentials stay here: an account is made in the member for the hub, with the rights of an agent.
\`rollcall unregister\` removes it again.`;

const unregisterExamples = `
Examples:
  rollcall unregister edge-1                             its agent is told, and removes itself
  rollcall unregister edge-1 --member-kubeconfig edge-1.kubeconfig
      the member is cleaned from here, whether its agent runs or not
  rollcall unregister edge-1 --force                     do not wait for its agent

A member that is away hears of it when it comes back. Its old keys stay out; \`rollcall register\` makes new ones.`;

export function addMemberCommands(program: Command): void {
  withMemberAccess(withNetwork(withMember(program.command('register'))))
    .description('register a cluster with a hub')
    .argument('<host:port>', 'address of the hub; several with commas between them')
    .option('--token <token>', 'registration token, or file:PATH (default: ROLLCALL_TOKEN)')
    .option('--ca-cert-hash <sha256:hex>', "hash of the public key of the hub's CA; repeatable", collect)
    .addOption(new Option('--discovery-token-ca-cert-hash <sha256:hex>').argParser(collect).hideHelp())
    .option('--ca-file <file>', "the hub's CA certificate (PEM)")
    .option(
      '--insecure-trust-first-ca',
      'trust whatever CA answers first, once, without verifying it; it is shown and kept',
    )
    .option('--cluster-name <name>', "name on the hub (default: the context's cluster)")
    .option('--client-id <id>', 'identity on the hub (default: the UID of kube-system)')
    .option('--labels <k=v,k=v>', 'labels to ask for; the token says which it allows')
    .addOption(
      new Option('--cluster-type <type>', 'Edge: expected to be away often').choices(['Standard', 'Edge']),
    )
    .option('--run', 'be the agent, in the foreground')
    .option('--manifest', 'print what installs the agent in the member')
    .option('--image <name>', 'image of the agent, for --manifest')
    .option(
      '--state-dir <directory>',
      'keys of the agent, for --run (default: .rollcall-agent/<hub>/<cluster>)',
    )
    .option('--timeout <duration>', 'give up when the cluster is not Ready by then (default: never)')
    .option('--dry-run', 'run the checks and stop')
    .addHelpText('after', registerExamples)
    .action(async (hub: string, flags: RegisterFlags) => {
      const { register } = await import('../register/register.ts');
      await register(hub, flags);
    });

  withMember(withHub(program.command('join')))
    .description('have the hub reach a cluster by itself, with an account that is made in it')
    .argument('<name>', 'of the cluster on the hub')
    .addOption(
      new Option('--mode <mode>', 'Push: the hub probes the member. Pull: the hub installs an agent in it')
        .choices(['Push', 'Pull'])
        .default('Push'),
    )
    .option('--labels <k=v,k=v>', 'labels of the cluster')
    .option('--cluster-set <name>', 'its set; needs create on managedclustersets/join')
    .addOption(
      new Option('--cluster-type <type>', 'Edge: expected to be away often').choices(['Standard', 'Edge']),
    )
    .option(
      '--timeout <duration>',
      'stop waiting when the cluster is not Ready by then; the hub goes on, and the same command waits again',
      '2m',
    )
    .option('--dry-run', 'ask hub and member whether you may, and change nothing')
    .addHelpText('after', joinExamples)
    .action(async (name: string, flags: JoinFlags) => {
      const { join } = await import('../join/join.ts');
      await join(name, flags);
    });

  withSeveral(withMember(withHub(program.command('unregister'))), 'clusters')
    .alias('unjoin')
    .description('have a cluster leave the hub, and remove its agent from the member')
    .argument('[name...]', 'of the cluster')
    .option('--force', 'do not wait for the agent; needs create on managedclusters/forcedelete')
    .option('--wait', 'also until Kubernetes has emptied the namespace of the cluster on the hub')
    .option('--timeout <duration>', 'how long to wait until the hub is done', '2m')
    .option('--dry-run', 'ask hub and member whether you may, and change nothing')
    .addHelpText('after', unregisterExamples)
    .action(async (names: string[], flags: UnregisterFlags & SeveralFlags) => {
      const { unregister } = await import('../unregister/unregister.ts');
      const { actOnEach, labelledClusters } = await import('../decide/act-on-several.ts');
      const several = { ...flags, output: 'text' } as const;
      await actOnEach(names, several, {
        find: () => labelledClusters(flags),
        verb: 'Remove',
        act: ({ word }) => unregister(word, flags),
      });
    });

  const agent = program.command('agent').description('the agent of a member cluster');
  withMemberAccess(withNetwork(withMember(agent.command('run'))))
    .description('run the agent; in a pod it finds everything in the Secrets of its namespace')
    .option(
      '--hub <host:port>',
      'address of the hub; repeatable (default: Secret rollcall-bootstrap)',
      collect,
    )
    .option(
      '--token <token>',
      'registration token, or file:PATH (default: ROLLCALL_TOKEN, Secret rollcall-bootstrap)',
    )
    .option('--ca-cert-hash <sha256:hex>', "hash of the public key of the hub's CA; repeatable", collect)
    .option('--ca-file <file>', "the hub's CA certificate (PEM)")
    .option('--cluster-name <name>', 'name on the hub (default: ROLLCALL_CLUSTER_NAME)')
    .option('--client-id <id>', 'identity on the hub (default: ROLLCALL_CLIENT_ID, the UID of kube-system)')
    .option('--labels <k=v,k=v>', 'labels to ask for (default: ROLLCALL_LABELS)')
    .addOption(
      new Option('--cluster-type <type>', 'Edge: expected to be away often').choices(['Standard', 'Edge']),
    )
    .option('--provider <name>', 'who runs the member (default: ROLLCALL_PROVIDER, what its nodes say)')
    .option('--region <name>', 'where it runs (default: ROLLCALL_REGION, what its nodes say)')
    .option(
      '--pod-cidrs <cidr,cidr>',
      'addresses of its pods (default: ROLLCALL_POD_CIDRS, what its nodes say)',
    )
    .option(
      '--service-cidrs <cidr,cidr>',
      'addresses of its services (default: ROLLCALL_SERVICE_CIDRS, what Kubernetes 1.33 and newer says)',
    )
    .option(
      '--node-label-threshold <percent>',
      'share of nodes, 51 to 100, whose common labels become labels of the cluster; 0: none (default: ROLLCALL_NODE_LABEL_THRESHOLD, 80)',
    )
    .option('--state-dir <directory>', 'keys of the agent (default in a pod: Secret rollcall-agent)')
    .option(
      '--hosted <name>',
      'in a pod of another cluster than the member (--member-kubeconfig): keys in Secret rollcall-agent-NAME there, hub and token in rollcall-bootstrap-NAME',
    )
    .action(async (flags: AgentRunFlags) => {
      const { runAgentCommand } = await import('../agent/run-agent-command.ts');
      await runAgentCommand(flags);
    });

  withHosted(withNetwork(withMember(agent.command('leave'))))
    .description(
      'have this cluster leave its hub, and remove the agent; the hub is told with the keys of the agent',
    )
    .option(
      '--hub <host:port>',
      'address of the hub; repeatable (default: Secret rollcall-bootstrap of the member)',
      collect,
    )
    .option('--ca-cert-hash <sha256:hex>', "hash of the public key of the hub's CA; repeatable", collect)
    .option('--ca-file <file>', "the hub's CA certificate (PEM; default: the one that the agent knows)")
    .option(
      '--state-dir <directory>',
      'keys of an agent that runs in the foreground (default: Secret rollcall-agent of the member)',
    )
    .option('--timeout <duration>', 'give up when the cluster has not left by then', '1m')
    .option('--dry-run', 'say what would be done and stop')
    .action(async (flags: AgentLeaveFlags) => {
      const { leaveAsAgent } = await import('../agent/leave-command.ts');
      await leaveAsAgent(flags);
    });

  withHosted(withMember(agent.command('rotate')))
    .description(
      'have the agent that runs here take a new key; the cluster stays connected, and the former key is out afterwards',
    )
    .option(
      '--state-dir <directory>',
      'keys of an agent that runs in the foreground (default: Secret rollcall-agent of the member)',
    )
    .option('--timeout <duration>', 'stop waiting by then; the agent goes on', '1m')
    .option('--dry-run', 'say what would be done and stop')
    .action(async (flags: AgentRotateFlags) => {
      const { rotateAgentKey } = await import('../agent/rotate-command.ts');
      await rotateAgentKey(flags);
    });
}
