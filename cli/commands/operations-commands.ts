import type { Command } from 'commander';
import type { AuditFlags } from '../audit/audit.ts';
import type { ExportFlags } from '../context/export-context.ts';
import type { ConsoleFlags } from '../console/run-console.ts';
import type { CordonFlags } from '../decide/cordon-cluster.ts';
import type { LabelFlags } from '../decide/label-cluster.ts';
import type { MoveFlags } from '../decide/move-cluster.ts';
import type { SeveralFlags } from '../decide/act-on-several.ts';
import type { ShowFlags } from '../decide/show-cluster.ts';
import type { DescribeFlags } from '../describe/describe-cluster.ts';
import type { DoctorFlags } from '../doctor/doctor.ts';
import type { DeadFlags } from '../dead/list-dead.ts';
import type { MendFlags } from '../dead/retry-or-drop.ts';
import type { StatusFlags } from '../status/show-status.ts';
import type { TopFlags } from '../top/top.ts';
import {
  collect,
  doneOption,
  keysOption,
  outputOption,
  printed,
  withBus,
  withHub,
  withKeys,
  withSeveral,
  withMember,
  withNetwork,
  withWorkloads,
} from './common-flags.ts';

const auditExamples = `
Examples:
  rollcall audit --since 30d                    every decision of trust of the last month
  rollcall audit --cluster edge-1               who let it in, and by which token
  rollcall audit --token rollcall-join/rollout -o wide
  rollcall audit --person alice -o json
  rollcall audit --key 1f2e-3d4c-5b6a-7988       of an agent or of a token`;

const labelExamples = `
Examples:
  rollcall cluster label edge-1 edge-2 region=eu tier=gold
  rollcall cluster label -l region=eu tier- --yes          take label tier away from all in Europe
  rollcall cluster label edge-1 tier=silver --overwrite`;

const doctorExamples = `
Examples:
  rollcall doctor                                       the hub: addresses, clocks, certificates, rights, admission, services …
  rollcall doctor --member-kubeconfig edge.kubeconfig   a member, as its agent would see it
  rollcall doctor --agent-state-dir .rollcall-agent/HUB/CLUSTER --hub hub.example.org:4222`;

const statusExits = `
Exit codes:
  0  all was asked, and is well
  1  something is not as it should be
  3  these credentials are refused
  5  nothing is known to be wrong, and something could not be asked`;

/** What people look at and do with clusters that are there: describe, cordon, audit, status … */
export function addOperationsCommands(program: Command): void {
  withBus(program.command('describe'))
    .description('say who a cluster is, who let it in and why, whether it is alive, and what to do')
    .argument('<kind>', 'cluster; a request that is no cluster yet is found by it as well')
    .argument('<name|id>', 'as `rollcall get clusters` or `rollcall get requests` shows it')
    .option('--id', 'it is an id, whoever has it as a name')
    .option('--all', 'the whole timeline')
    .option('--at <when>', 'as it was then, by the history: a time, or a duration back (1h)')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (kind: string, target: string, flags: DescribeFlags) => {
      const { describeCluster } = await import('../describe/describe-cluster.ts');
      await describeCluster(kind, target, flags);
    });

  for (const verb of ['cordon', 'uncordon'] as const) {
    withSeveral(withHub(program.command(verb)), 'clusters')
      .description(
        verb === 'cordon'
          ? 'mark a cluster so that other tools place nothing new there'
          : 'take that mark away again',
      )
      .argument('[name...]', 'of the cluster')
      .option('--dry-run', 'ask the hub whether you may, and change nothing')
      .addOption(doneOption())
      .action(async (names: string[], flags: CordonFlags & SeveralFlags) => {
        const { cordonCluster } = await import('../decide/cordon-cluster.ts');
        const { actOnEach, labelledClusters } = await import('../decide/act-on-several.ts');
        await actOnEach(names, flags, {
          find: () => labelledClusters(flags),
          verb: verb === 'cordon' ? 'Cordon' : 'Uncordon',
          act: ({ word }) => cordonCluster(verb, word, flags),
        });
      });
  }

  withSeveral(withHub(program.command('move')), 'clusters')
    .description('put a cluster into another set; you need the right to join on the old and the new one')
    .argument('[name...]', 'of the cluster')
    .requiredOption('--to <set>', 'the set that it comes to')
    .option('--dry-run', 'ask the hub whether you may, and change nothing')
    .addOption(doneOption())
    .action(async (names: string[], flags: MoveFlags & SeveralFlags) => {
      const { moveCluster } = await import('../decide/move-cluster.ts');
      const { actOnEach, labelledClusters } = await import('../decide/act-on-several.ts');
      await actOnEach(names, flags, {
        find: () => labelledClusters(flags),
        verb: 'Move',
        act: ({ word }) => moveCluster(word, flags),
      });
    });

  const cluster = program.command('cluster').description('change what people say of clusters');
  withSeveral(withHub(cluster.command('label')), 'clusters')
    .description('give clusters labels (key=value), or take them away (key-), as `kubectl label` does')
    .argument('<name|label...>', 'of the clusters, and the labels')
    .option('--overwrite', 'also labels that have another value')
    .option('--dry-run', 'ask the hub whether you may, and change nothing')
    .addOption(doneOption())
    .addHelpText('after', labelExamples)
    .action(async (words: string[], flags: LabelFlags & SeveralFlags) => {
      const { labelCluster } = await import('../decide/label-cluster.ts');
      const { parseLabelWords } = await import('../decide/label-words.ts');
      const { actOnEach, labelledClusters } = await import('../decide/act-on-several.ts');
      const { names, changes } = parseLabelWords(words);
      await actOnEach(names, flags, {
        find: () => labelledClusters(flags),
        verb: 'Label',
        act: ({ word }) => labelCluster(word, changes, flags),
      });
    });

  withBus(program.command('show'))
    .description('make a cluster visible, on a hub that shows only exceptions (`projection: exceptions`)')
    .argument('<name|id>', 'of a member; `rollcall get clusters --live` lists all of them')
    .option('--for <duration>', 'how long it stays visible while it is well', '1h')
    .option('--timeout <duration>', 'how long to wait for the hub', '30s')
    .addOption(doneOption())
    .action(async (target: string, flags: ShowFlags) => {
      const { showCluster } = await import('../decide/show-cluster.ts');
      await showCluster(target, flags);
    });

  withBus(program.command('audit'))
    .description('show who was trusted or put out, by whom, and why')
    .option('--cluster <id|name>', 'of this cluster only')
    .option('--token <name>', 'of this token and the clusters that came by it: its name, or namespace/name')
    .option('--person <user>', 'what this person decided')
    .option('--key <fingerprint>', 'what let this key in or put it out; also the public key itself')
    .option('--since <when>', 'not older than a duration (30d) or a time (RFC 3339)')
    .addOption(outputOption('table', 'wide', 'json', 'yaml', 'name'))
    .addHelpText('after', auditExamples)
    .action(async (flags: AuditFlags) => {
      const { audit } = await import('../audit/audit.ts');
      await audit(flags);
    });

  withWorkloads(withBus(program.command('console')))
    .description('serve the fleet as a page for your browser, on this machine only, with your own rights')
    .option('--port <number>', 'port on 127.0.0.1 (default: any that is free)')
    .option('--no-open', 'print the link only, and open no browser')
    .addOption(keysOption())
    .action(async (flags: ConsoleFlags) => {
      const { runConsole } = await import('../console/run-console.ts');
      await runConsole(flags);
    });

  withBus(program.command('top'))
    .description('watch the fleet: clusters by state, joins, who waits, lag, heartbeats and events a second')
    .option('--once', 'print one frame, for scripts')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (flags: TopFlags) => {
      const { top } = await import('../top/top.ts');
      await top(flags);
    });

  withWorkloads(withBus(program.command('status')))
    .description('show the hub at a glance; exit 0 only when all was asked and is well')
    .addOption(outputOption('text', 'json', 'yaml'))
    .addHelpText('after', statusExits)
    .action(async (flags: StatusFlags) => {
      const { showStatus } = await import('../status/show-status.ts');
      await showStatus(flags);
    });

  withNetwork(withMember(withWorkloads(withBus(program.command('doctor')))))
    .description('find out why something does not work, and say what to do; exit 1 when something is found')
    .option('--agent-state-dir <directory>', 'look at the keys and credentials of an agent')
    .option('--hub <host:port>', 'and whether this address of its hub answers; repeatable', collect)
    .addOption(outputOption('text', 'json', 'yaml'))
    .addHelpText('after', doctorExamples)
    .action(async (flags: DoctorFlags) => {
      const { doctor } = await import('../doctor/doctor.ts');
      await doctor(flags);
    });

  const dead = program.command('dead').description('events that a service could not handle');
  for (const verb of ['retry', 'drop'] as const) {
    withKeys(dead.command(verb))
      .description(
        verb === 'retry'
          ? 'have a service handle events again that it could not'
          : 'forget dead letters; the events themselves stay in the history',
      )
      .argument('[ids...]', 'as `rollcall dead list` shows them')
      .option('--all', 'every dead letter there is')
      .option('--timeout <duration>', 'how long to wait for what became of them (retry)', '90s')
      .option('--dry-run', 'say which ones, and change nothing')
      .addHelpText(
        'after',
        '\nRuns where the keys are: in the directory of `rollcall up`, or with --keys that of `rollcall install hub`.',
      )
      .action(async (ids: string[], flags: MendFlags) => {
        const { mendDead } = await import('../dead/retry-or-drop.ts');
        await printed(mendDead(verb, ids, flags), 'text');
      });
  }
  withBus(dead.command('list'))
    .alias('ls')
    .description('show them, oldest first')
    .addOption(outputOption('table', 'wide', 'json', 'yaml', 'name'))
    .action(async (flags: DeadFlags) => {
      const { listDead } = await import('../dead/list-dead.ts');
      await listDead(flags);
    });

  const context = program.command('context').description('contexts of the `nats` command');
  withBus(context.command('export'))
    .description('write a read-only context, so that `nats sub` and others work on this hub')
    .option('--name <name>', 'of the context', 'rollcall')
    .option('--force', 'also over a context that somebody else made')
    .option('--dry-run', 'say what would be written, and write nothing')
    .action(async (flags: ExportFlags) => {
      const { exportContext } = await import('../context/export-context.ts');
      await exportContext(flags);
    });
}
