import type { Command } from 'commander';
import type { SimulateFlags } from '../simulate/simulation-settings.ts';
import { collect, outputOption } from './common-flags.ts';
import type { UpFlags } from './run-up.ts';

const upExamples = `
Examples:
  rollcall up
  rollcall up --advertise hub.example.org:4222      agents elsewhere reach the hub by this address

State is kept in .rollcall/ (or ROLLCALL_HOME). Ctrl-C stops everything; the next \`rollcall up\` goes on from there.`;

const simulateExamples = `
Examples:
  rollcall simulate --clusters 10000 --scenario docs/scenarios/datacenter-outage.yaml
  rollcall simulate --clusters 500 --real 200 --rate 20 --scenario docs/scenarios/rolling-update.yaml --seed 7

Needs the hub of this directory to run (\`rollcall up\`, \`npm start\`). docs/simulate.md says what a scenario can do.`;

export function addHubCommands(program: Command): void {
  program
    .command('up')
    .description('start a hub here: NATS, Kubernetes API server, all services, and an agent of this cluster')
    .option('--advertise <host:port>', 'address that agents use; repeatable', collect)
    .option(
      '--websocket <host:port>',
      'address by which agents also reach the hub over WebSocket (default: none)',
    )
    .option('--port <number>', 'port of the hub (default: the one it had before, 4222 at first)')
    .option(
      '--servers <number>',
      'NATS servers: 1 or 3, which can lose one; set at the first start (default: 1)',
    )
    .option(
      '--token-namespaces <name,...>',
      'where registration tokens count, made where missing; as given at each start (default: rollcall-join)',
    )
    .option('--no-agent', 'do not register this very cluster')
    .addHelpText('after', upExamples)
    .action(async (flags: UpFlags) => {
      const { runUp } = await import('./run-up.ts');
      await runUp(flags);
    });

  program
    .command('down')
    .description('stop the hub of this directory')
    .option(
      '--wipe',
      'forget everything: keys, clusters and history; every cluster then registers again; refused in a directory that is no hub’s',
    )
    .action(async (flags: { wipe?: boolean }) => {
      const { runDown } = await import('./run-down.ts');
      await runDown(flags);
    });

  program
    .command('serve')
    .description(
      'run one service of a hub: registrar, approver, rbac-provisioner, heartbeat, projector, account-controller',
    )
    .usage('SERVICE [--config FILE] [--check] [settings]')
    .argument('[args...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (args: string[]) => {
      const { serve } = await import('../serve/serve.ts');
      await serve(args);
    });

  program
    .command('simulate')
    .description('try the hub of this directory on a fleet that is made up, and what happens to it')
    .requiredOption('--clusters <n>', 'how many')
    .requiredOption('--scenario <file>', 'what happens to them (YAML)')
    .option('--real <n>', 'of them with an agent, keys and connections of their own', '0')
    .option('--rate <n>', 'such agents that begin to join in a second', '20')
    .option('--shown <n>', 'made-up clusters that Kubernetes shows; each costs the API server writes', '200')
    .option('--seed <n>', 'the same seed does the same to the same clusters', '1')
    .option('--keep', 'leave the clusters registered at the end')
    .addOption(outputOption('text', 'json', 'yaml'))
    .addHelpText('after', simulateExamples)
    .action(async (flags: SimulateFlags) => {
      const { simulate } = await import('../simulate/simulate.ts');
      await simulate(flags);
    });
}
