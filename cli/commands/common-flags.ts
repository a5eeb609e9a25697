import { type Command, Option } from 'commander';
import type { DoneFormat, Outcome } from '../get/print-objects.ts';

/** Flags of every command that talks to the hub's API server. */
export function withHub(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the hub (default: KUBECONFIG, else the hub of .rollcall/)')
    .option('--context <name>', 'context of the hub in it')
    .addOption(new Option('--karmada-context <name>').hideHelp());
}

/** Of a hub in a cluster, which an embedded one of this directory never is. */
export function withHubInCluster(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the cluster of the hub (default: as kubectl)')
    .option('--context <name>', 'context of that cluster in it')
    .addOption(new Option('--karmada-context <name>').hideHelp());
}

/** Flags that say where the pods of the hub run. */
export function withWorkloads(command: Command): Command {
  return command
    .option(
      '--workloads-kubeconfig <file>',
      'kubeconfig of the cluster that runs the pods of the hub, where that is another one',
    )
    .option('--workloads-context <name>', 'context of that cluster in it');
}

/** Of a hub in a cluster, whose pods may run in another one. */
export const withHubPlaces = (command: Command): Command => withWorkloads(withHubInCluster(command));

/** Flags of every command for a hub whose keys are here, wherever it runs. */
export function withKeys(command: Command): Command {
  return withHubPlaces(command).addOption(keysOption());
}

export const keysOption = () =>
  new Option(
    '--keys <directory>',
    'of a hub in a cluster, the keys that `install hub` keeps (default: of `rollcall up`)',
  );

/** Flags of every command that reads the bus, beside those of the hub. */
export function withBus(command: Command): Command {
  return withHub(command)
    .option(
      '--creds <file>',
      'bus credentials (default: .rollcall/inspector.creds, else Secret rollcall-inspector or rollcall-ops)',
    )
    .option('--server <host:port>', 'address of the hub, with --creds and --ca-file (default: NATS_URL)')
    .option('--ca-file <file>', "the hub's CA certificate (PEM)")
    .option('--nats-context <name>', 'context of the `nats` command (default: NATS_CONTEXT)');
}

/** Flags of every command that talks to a member's API server. */
export function withMember(command: Command): Command {
  return command
    .option(
      '--member-kubeconfig <file>',
      'kubeconfig of the member (default: as kubectl, or the pod it runs in)',
    )
    .option('--member-context <name>', 'context of the member in it')
    .addOption(new Option('--cluster-kubeconfig <file>').hideHelp())
    .addOption(new Option('--cluster-context <name>').hideHelp());
}

/** Flags of every command about an agent that is there, which may be one outside of its member. */
export function withHosted(command: Command): Command {
  return command
    .option(
      '--hosted <name>',
      'an agent that runs outside of its member: its name there (`agent run --hosted`)',
    )
    .option('--host-kubeconfig <file>', 'kubeconfig of the cluster that it runs in (default: as kubectl)')
    .option('--host-context <name>', 'context of that cluster in it')
    .option('--host-namespace <name>', 'namespace that it runs in (default: that of the context)');
}

/** Flags of every command that reaches the hub as an agent does. */
export function withNetwork(command: Command): Command {
  return command
    .option(
      '--host-alias <name=ip>',
      "IP address of the hub's name, where no DNS here knows it; repeatable",
      collect,
    )
    .option('--proxy <url>', 'HTTP proxy to the hub, or file:PATH (default: HTTPS_PROXY, but for NO_PROXY)')
    .option('--proxy-ca-file <file>', 'CA certificate (PEM) of a proxy with https:// (default: public ones)');
}

/** Flags of every command that starts an agent, or says how it is to run. */
export function withMemberAccess(command: Command): Command {
  return command.option(
    '--member-access <rule>',
    'who of the hub gets into the member, and as whom: user:NAME, group:HUB=MEMBER, or service-account:NAMESPACE/NAME for all; repeatable (default: nobody)',
    collect,
  );
}

/** How things are shown, the same words everywhere. */
export function outputOption(...formats: readonly [string, ...string[]]): Option {
  return new Option('-o, --output <format>', 'how to show it').choices(formats).default(formats[0]);
}

/** Of commands that change an object: words for people, the object for programs. */
export const doneOption = () => outputOption('text', 'json', 'yaml', 'name');

/** Of commands that act on several: what is meant beside names, and whether it is asked before. */
export function withSeveral(command: Command, of: 'held requests' | 'clusters'): Command {
  const selecting = command.option('-l, --selector <labels>', `${of} with these labels (region=eu)`);
  if (of === 'held requests') selecting.option('--all-held', 'every request that waits for a person');
  return selecting.option('-y, --yes', 'do not ask before several are acted on');
}

/** Prints what came of a command that changes an object. */
export async function printed(outcome: Promise<Outcome>, output: DoneFormat): Promise<void> {
  const came = await outcome;
  const { printOutcome } = await import('../get/print-objects.ts');
  printOutcome(came, output);
}

/** For flags that may be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
