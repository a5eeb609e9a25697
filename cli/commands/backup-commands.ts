import { type Command } from 'commander';
import { RollcallError } from '@rollcall/shared/errors';
import type { AcceptLossFlags } from '../backup/accept-loss.ts';
import type { BackupFlags } from '../backup/backup.ts';
import type { RestoreFlags } from '../backup/restore.ts';
import type { VerifyFlags } from '../verify/verify.ts';
import { collect, keysOption, outputOption, withBus, withKeys } from './common-flags.ts';

const backupExamples = `
Examples:
  rollcall backup hub.backup --passphrase-file pass.txt      sealed with a passphrase
  rollcall backup /mnt/backups --to XABC…                    sealed to a key; a new file in that directory each time
  rollcall backup key backup.key                             make such a key; its public half is printed

Runs while the hub runs, where its keys are; with --kubeconfig, --context or NATS_URL also elsewhere, and then without the keys.
Everything but the keys can be read: zcat hub.backup | jq .`;

const restoreExamples = `
Examples:
  rollcall restore hub.backup --passphrase-file pass.txt     into .rollcall/, which has no hub
  rollcall restore hub.backup --key-file backup.key --keep-kubernetes
  rollcall restore hub.backup --objects > objects.yaml       only print what people had written in Kubernetes
  rollcall restore hub.backup --keys .rollcall-hub           of a hub in a cluster, whose services wait meanwhile
  rollcall restore --accept-loss HUB-ID                      no backup: go on with what is left of the history
  rollcall restore --accept-loss HUB-ID --keys .rollcall-hub   the same of a hub in a cluster, while it runs

A new epoch begins: decisions of before are not acted on again, tokens wait for \`rollcall token renew\`, agents come back by
themselves. docs/security/restore.md says it step by step.`;

type RestoreCommandFlags = RestoreFlags & AcceptLossFlags & { objects?: boolean; acceptLoss?: string };

export function addBackupCommands(program: Command): void {
  const backup = withBus(program.command('backup'))
    .description('copy the whole hub into a file: history, objects of people, and its keys, sealed')
    .usage('FILE|DIR [options]')
    .argument('<file>', 'a new file, or a directory to make one in; or: key FILE')
    .argument('[key-file]', 'with `key`: where to keep the secret half')
    .option('--passphrase-file <file>', 'passphrase to seal the keys with (default: ask for it)')
    .option('--to <key>', 'public key to seal the keys to, instead of a passphrase')
    .addOption(keysOption())
    .option('--allow-loss', 'also of what is left of a history that is lost or cut (HISTORY_LOST)')
    .addHelpText('after', backupExamples);
  backup.action(async (target: string, keyFile: string | undefined, flags: BackupFlags) => {
    if (target === 'key' && keyFile !== undefined) {
      const { makeKey } = await import('../backup/make-key.ts');
      makeKey(keyFile);
      return;
    }
    const { backup: run } = await import('../backup/backup.ts');
    await run(target, flags);
  });

  withKeys(program.command('restore'))
    .description('make a hub from a backup; a new epoch begins')
    .argument('[file]', 'as `rollcall backup` wrote it')
    .option('--passphrase-file <file>', 'passphrase that the keys were sealed with (default: ask for it)')
    .option('--key-file <file>', 'secret half of the key that they were sealed to')
    .option('--state-dir <dir>', 'where the hub is to be (default: ROLLCALL_HOME, else .rollcall)')
    .option('--keep-kubernetes', 'put it in the place of the hub that is there, whose Kubernetes is not lost')
    .option('--epoch <number>', 'of the new epoch, where a later one than that of the backup is known of')
    .option('--objects', 'only print the objects of people, as YAML')
    .option(
      '--accept-loss <hub-id>',
      'without a file: go on with what is left of a history that is lost or cut (HISTORY_LOST)',
    )
    .addHelpText('after', restoreExamples)
    .action(async (file: string | undefined, flags: RestoreCommandFlags) => {
      if ((file === undefined) === (flags.acceptLoss === undefined))
        throw new RollcallError('USAGE', 'give a backup, or --accept-loss with the id of the hub');
      if (flags.acceptLoss !== undefined) {
        const { acceptLoss } = await import('../backup/accept-loss.ts');
        return acceptLoss(flags.acceptLoss, flags);
      }
      if (file === undefined) return;
      if (flags.objects === true) {
        const { printObjects } = await import('../backup/print-objects.ts');
        return printObjects(file);
      }
      const { restore } = await import('../backup/restore.ts');
      await restore(file, flags);
    });

  withBus(program.command('verify'))
    .description('check the history, what Kubernetes shows of it, and that nothing is missing')
    .addOption(keysOption())
    .option(
      '--archive <file>',
      'of `rollcall history archive`, to be read as part of it; repeatable',
      collect,
    )
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (flags: VerifyFlags) => {
      const { verify } = await import('../verify/verify.ts');
      await verify(flags);
    });
}
