import type { Command } from 'commander';
import { collect } from './common-flags.ts';
import type { UpFlags } from './run-up.ts';

const upExamples = `
Examples:
  rollcall up
  rollcall up --advertise hub.example.org:4222      agents elsewhere reach the hub by this address

State is kept in .rollcall/ (or ROLLCALL_HOME). Ctrl-C stops everything; the next \`rollcall up\` goes on from there.`;

export function addHubCommands(program: Command): void {
  program
    .command('up')
    .description('start a hub here: NATS, Kubernetes API server, all services, and an agent of this cluster')
    .option('--advertise <host:port>', 'address that agents use; repeatable', collect)
    .option('--port <number>', 'port of the hub (default: the one it had before, 4222 at first)')
    .option('--no-agent', 'do not register this very cluster')
    .addHelpText('after', upExamples)
    .action(async (flags: UpFlags) => {
      const { runUp } = await import('./run-up.ts');
      await runUp(flags);
    });

  program
    .command('down')
    .description('stop the hub of this directory')
    .option('--wipe', 'forget everything: keys, clusters and history; every cluster then registers again')
    .action(async (flags: { wipe?: boolean }) => {
      const { runDown } = await import('./run-up.ts');
      await runDown(flags);
    });

  program
    .command('serve')
    .description(
      'run one service of a hub: registrar, approver, rbac-provisioner, heartbeat, projector, trust-keeper',
    )
    .usage('SERVICE [--config FILE] [--check] [settings]')
    .argument('[args...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (args: string[]) => {
      const { serve } = await import('../serve/serve.ts');
      await serve(args);
    });
}
