import { type Command, Option } from 'commander';

/** Flags of every command that talks to the hub's API server. */
export function withHub(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig of the hub (default: KUBECONFIG, else the hub of .rollcall/)')
    .option('--context <name>', 'context of the hub in it')
    .addOption(new Option('--karmada-context <name>').hideHelp());
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

/** For flags that may be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
