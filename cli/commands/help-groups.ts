import type { Command } from 'commander';

/** The commands as `rollcall --help` lists them: by what somebody wants to do, the usual first, each with one short line. */
const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Start:': {
    up: 'start a hub here, with this cluster as a member',
    down: 'stop it, or forget it (--wipe)',
    token: 'make, list, renew and delete registration tokens',
    register: 'register a cluster with a hub, from the cluster (Pull)',
    join: 'register a cluster that the hub reaches by itself (Push)',
    unregister: 'have a cluster leave the hub, and remove its agent',
    agent: 'run the agent of a member cluster by hand',
  },
  'Decide:': {
    approve: 'let a cluster in that asks to join',
    deny: 'refuse a cluster, or put a member out',
    revoke: 'take the key of a member back; it may ask again',
    ban: 'put a cluster out for good, whatever its key',
    unban: 'let a banned cluster ask again',
    rotate: 'have a member take a new key, without an interruption',
    move: 'put a cluster into another set',
    cluster: 'label clusters',
    cordon: 'mark a cluster: nothing new is to be placed there',
    uncordon: 'take that mark away',
    confirm: 'confirm a bulk change that is held',
    policy: 'check, explain and try approval policies',
  },
  'Watch:': {
    get: 'list clusters, requests, tokens, policies, sets, …',
    describe: 'explain one cluster: its state, its story, what to do',
    kubectl: 'run kubectl on a member, by way of the hub',
    kubeconfig: 'write contexts for members, by way of the hub',
    credentials: 'give tools a token for members (plugin)',
    console: 'watch and decide in the browser',
    events: 'print what happened; follow it with --follow',
    top: 'watch the fleet in the terminal, live',
    audit: 'list who was let in or put out, by whom and why',
    show: 'make one cluster visible on a hub that shows exceptions',
  },
  'Operate:': {
    status: 'say whether the hub is well (exit 0 only if it is)',
    doctor: 'find out why something does not work',
    verify: 'check the history against its chain and Kubernetes',
    backup: 'copy the whole hub into one sealed file',
    restore: 'make a hub from a backup, or accept a loss',
    history: 'archive old history to make space',
    dead: 'list, retry and drop dead letters',
    trust: 'rotate the keys of the hub, and of its operator',
    context: 'write contexts for the `nats` command',
    simulate: 'try the hub on a made-up fleet',
  },
  'Install:': {
    install: 'install a hub or an agent into a cluster',
    uninstall: 'remove it again',
    import: 'take clusters over from OCM, Karmada, Clusternet, Fleet',
    serve: 'run one service of a hub (what the pods run)',
    completion: 'print the completion script of a shell',
    version: 'print the version',
  },
};

/**
 * Puts the commands of the program in the order of the groups, and gives each its heading and its line.
 * @throws Error where a command is in no group, or a group names a command that there is not
 */
export function groupCommands(program: Command): void {
  const lines = Object.entries(groups).flatMap(([heading, group]) =>
    Object.entries(group).map(([name, line]) => ({ heading, name, line })),
  );
  const place = new Map(lines.map(({ name }, index) => [name, index]));
  const commands = new Map(program.commands.map((command) => [command.name(), command]));
  const ungrouped = [...commands.keys()].filter((name) => !place.has(name));
  if (ungrouped.length > 0) throw new Error(`commands in no group of the help: ${ungrouped.join(', ')}`);
  for (const { heading, name, line } of lines) {
    const command = commands.get(name);
    if (!command) throw new Error(`a group of the help names "${name}", which is no command`);
    command.helpGroup(heading).summary(line);
  }
  (program.commands as Command[]).sort(
    (one, other) => (place.get(one.name()) ?? 0) - (place.get(other.name()) ?? 0),
  );
  program
    .commandsGroup('Install:')
    .helpCommand('help [command]', 'explain a command')
    .configureHelp({ subcommandTerm: (command) => [command.name(), ...command.aliases()].join(', ') });
}
