import { type Command, Option } from 'commander';
import type { AgentRunFlags } from '../agent/run-agent-command.ts';
import type { RegisterFlags } from '../register/register.ts';
import { collect, withMember } from './common-flags.ts';

const registerExamples = `
Examples:
  rollcall register hub.example.org:4222 --token file:token.txt --ca-cert-hash sha256:… --run
      register the cluster of the current context, and be its agent until Ctrl-C
  rollcall register hub.example.org:4222 --token … --ca-cert-hash sha256:… --manifest | kubectl apply -f -
      install the agent in the member instead

\`rollcall token create --print-register-command\` on the hub prints the whole command. ROLLCALL_TOKEN and
\`--token file:PATH\` keep the token out of process lists.`;

export function addMemberCommands(program: Command): void {
  withMember(program.command('register'))
    .description('register a cluster with a hub')
    .argument('<host:port>', 'address of the hub; several with commas between them')
    .option('--token <token>', 'registration token, or file:PATH (default: ROLLCALL_TOKEN)')
    .option('--ca-cert-hash <sha256:hex>', "hash of the public key of the hub's CA; repeatable", collect)
    .addOption(new Option('--discovery-token-ca-cert-hash <sha256:hex>').argParser(collect).hideHelp())
    .option('--ca-file <file>', "the hub's CA certificate (PEM)")
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

  const agent = program.command('agent').description('the agent of a member cluster');
  withMember(agent.command('run'))
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
    .addOption(new Option('--cluster-type <type>').choices(['Standard', 'Edge']))
    .option('--state-dir <directory>', 'keys of the agent (default in a pod: Secret rollcall-agent)')
    .action(async (flags: AgentRunFlags) => {
      const { runAgentCommand } = await import('../agent/run-agent-command.ts');
      await runAgentCommand(flags);
    });
}
