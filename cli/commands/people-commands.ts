import type { Command } from 'commander';
import { rollcallVersion } from '@rollcall/shared/service/version';
import type { DecideFlags } from '../decide/decide-request.ts';
import type { OperationFlags } from '../decide/cluster-operation.ts';
import type { DocumentFormat } from '../terminal/document-text.ts';
import type { EventsFlags } from '../events/show-events.ts';
import type { ForwardFlags } from '../forward/forward-events.ts';
import type { GetFlags } from '../get/get.ts';
import { printResult } from '../terminal/output.ts';
import type { ConfirmFlags } from '../operations/confirm-operations.ts';
import type { SeveralFlags } from '../decide/act-on-several.ts';
import { collect, doneOption, outputOption, printed, withBus, withHub, withSeveral } from './common-flags.ts';

const eventExamples = `
Examples:
  rollcall events --since 1h
  rollcall events --tail 50
  rollcall events --cluster edge-1                      who let it in, by which rule, when was it last seen
  rollcall events --type approved --type denied -o json one CloudEvent a line
  rollcall events --follow                              lines marked \`live\` are what is heard now and not stored`;

const forwardExamples = `
Examples:
  rollcall events forward --to https://sink.example.org/events
  rollcall events forward --to file:webhook.txt --only unreachable,back --template chat.json

A template is JSON, {"text": "{{cluster}} is {{type}}: {{message}}"} for example; its names are cluster, id, kind, type, time, reason,
message, sequence and by. Without one, each message is a CloudEvent in structured mode. A message that the sink calls wrong (400, 413,
415, 422) is left out and said; everything else is tried again until it is taken.`;

const operations = {
  revoke: 'put the key of a cluster out; its agent may ask again',
  ban: 'put a cluster out for good, whatever key it asks with',
  unban: 'let a banned cluster ask again',
} as const;

export function addPeopleCommands(program: Command): void {
  withBus(program.command('get'))
    .description('show clusters, requests, tokens, policies, sets, or operations that are held')
    .argument('<kind>', 'clusters, requests, tokens, policies, sets or operations; short names work too')
    .argument('[names...]')
    .option('-n, --namespace <name>', 'of this namespace only (tokens)')
    .option('-l, --selector <labels>', 'with these labels, as with kubectl (region=eu,tier!=test)')
    .option(
      '--state <state>',
      'clusters that are ready, unknown, notReady, expected or out; repeatable',
      collect,
    )
    .option('--set <name>', 'clusters of this set')
    .option('--version <version>', 'clusters whose Kubernetes version begins so (v1.36)')
    .option('--since <when>', 'clusters that came into their state since then: a duration (1h) or a time')
    .option(
      '--filter <words>',
      'clusters that all words fit, as in the filter of the console: `edge server:hub-1 reason:OutageHeld is:cordoned`',
    )
    .option(
      '--sort-by <key>',
      'clusters by cluster, state, since, set, server, version or nodes; -key: the other way round',
    )
    .option('--at <when>', 'clusters as they were then, by the history: a time, or a duration back (1h)')
    .option('-w, --watch', 'go on with what changes')
    .option(
      '--live',
      'of clusters: ask the heartbeat service what it hears now, also of those that Kubernetes does not show',
    )
    .addOption(outputOption('table', 'wide', 'json', 'yaml', 'name'))
    .action(async (kind: string, names: string[], flags: GetFlags) => {
      if (flags.at !== undefined && !flags.live) {
        const { getPast } = await import('../get/get-past.ts');
        return getPast(kind, names, { ...flags, at: flags.at });
      }
      if (flags.live) {
        const { getHeard } = await import('../get/get-heard.ts');
        return getHeard(kind, names, flags);
      }
      if (kind === 'operations') {
        const { listOperations } = await import('../operations/list-operations.ts');
        return listOperations(names, flags);
      }
      const { get } = await import('../get/get.ts');
      return get(kind, names, flags);
    });

  for (const verdict of ['approve', 'deny'] as const) {
    const command = withSeveral(withHub(program.command(verdict)), 'held requests')
      .description(
        verdict === 'approve' ? 'let a cluster in that asked to join' : 'refuse a cluster, or put it out',
      )
      .argument('[name|id...]', 'as `rollcall get requests` shows it; a word that is both means the name')
      .option('--id', 'it is an id, whoever has it as a name')
      .option('--reason <text>', 'why; it is kept in the history')
      .option('--timeout <duration>', 'how long to wait until the hub has acted', '30s')
      .option('--dry-run', 'ask the hub whether you may, and change nothing')
      .addOption(doneOption())
      .action(async (names: string[], flags: DecideFlags & SeveralFlags) => {
        const { decideRequest } = await import('../decide/decide-request.ts');
        const { actOnEach, heldRequests } = await import('../decide/act-on-several.ts');
        await actOnEach(names, flags, {
          find: () => heldRequests(flags),
          verb: verdict === 'approve' ? 'Approve' : 'Deny',
          act: ({ word, isId, seenKey }) =>
            decideRequest(verdict, word, {
              ...flags,
              id: isId || (flags.id ?? false),
              ...(seenKey === undefined ? {} : { seenKey }),
            }),
        });
      });
    if (verdict === 'approve')
      command.option('--replace-key <fingerprint>', 'let this key in, in place of the one that is known');
  }

  for (const verb of ['revoke', 'ban', 'unban'] as const) {
    withHub(program.command(verb))
      .description(operations[verb])
      .argument('<name>', 'of the cluster')
      .option('--reason <text>', 'why; it is kept in the history')
      .option('--timeout <duration>', 'how long to wait until the hub has acted', '30s')
      .option('--dry-run', 'ask the hub whether you may, and change nothing')
      .addOption(doneOption())
      .action(async (name: string, flags: OperationFlags) => {
        const { operationForCluster } = await import('../decide/cluster-operation.ts');
        await printed(operationForCluster(verb, name, flags), flags.output);
      });
  }

  withHub(program.command('rotate'))
    .description('have the agent of a cluster take a new key, without cutting it off')
    .argument('<name>', 'of the cluster')
    .option('--reason <text>', 'why; it is kept in the history')
    .option('--timeout <duration>', 'how long to wait until the new key is in', '60s')
    .option('--dry-run', 'ask the hub whether you may, and change nothing')
    .addOption(doneOption())
    .action(async (name: string, flags: OperationFlags) => {
      const { rotateKey } = await import('../decide/rotate-key.ts');
      await printed(rotateKey(name, flags), flags.output);
    });

  withHub(program.command('confirm'))
    .description('have a bulk change acted on that the hub holds')
    .argument('<id>', 'as `rollcall get operations` shows it')
    .option('--no-wait', 'end once the confirmation is written')
    .option('--timeout <duration>', 'how long to wait until the hub has acted', '30s')
    .option('--dry-run', 'ask the hub whether you may, and change nothing')
    .action(async (id: string, flags: ConfirmFlags) => {
      const { confirmOperations } = await import('../operations/confirm-operations.ts');
      await printed(confirmOperations(id, flags), 'text');
    });

  const events = program.command('events');
  withBus(events)
    .description('show what happened, and follow what happens')
    .option('--cluster <id|name>', 'of this cluster only')
    .option('--type <type>', 'of this type only, such as approved or token.used; repeatable', collect)
    .option('--since <when>', 'not older than a duration (1h) or a time (RFC 3339)')
    .option(
      '-f, --follow',
      'go on with what happens from now on; without --type also with what is only heard',
    )
    .option('--tail <number>', 'the last of the past, or all (default: all; with --follow 20)')
    .addOption(outputOption('text', 'wide', 'json', 'yaml', 'name'))
    .addHelpText('after', eventExamples)
    .action(async (flags: EventsFlags) => {
      const { showEvents } = await import('../events/show-events.ts');
      await showEvents(flags);
    });
  withBus(events.command('forward'))
    .description('send what happens to a sink over HTTP, in order, each event until it is taken')
    .requiredOption('--to <url>', 'address of the sink or chat webhook, or file:PATH with it')
    .option(
      '--only <filter>',
      'what people are told of: unreachable, back, held, key-changed, out, bulk-held, token-used-up; repeatable',
      collect,
    )
    .option('--type <type>', 'events of this type, such as approved or token.used; repeatable', collect)
    .option('--cluster <id|name>', 'of this cluster only')
    .option(
      '--since <when>',
      'the first time: from then on, a duration (1h) or a time (default: from now on)',
    )
    .option(
      '--template <file>',
      'JSON to send in place of a CloudEvent, with {{cluster}}, {{type}}, {{message}}, …',
    )
    .option('--secret-file <file>', 'sign each message by this secret, as Standard Webhooks has it')
    .option('--position <file>', 'where it keeps its place in the history (default: in .rollcall/forward)')
    .addHelpText('after', forwardExamples)
    .action(async (flags: ForwardFlags) => {
      const { forwardEvents } = await import('../forward/forward-events.ts');
      await forwardEvents(flags);
    });

  program
    .command('version')
    .description('print the version')
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async ({ output }: { output: 'text' | DocumentFormat }) => {
      if (output === 'text') return printResult(rollcallVersion);
      const { documentText } = await import('../terminal/document-text.ts');
      return printResult(documentText({ version: rollcallVersion }, output));
    });
}
