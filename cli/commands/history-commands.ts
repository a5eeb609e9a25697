import type { Command } from 'commander';
import type { ArchiveFlags } from '../history/archive-history.ts';
import { withKeys } from './common-flags.ts';

const archiveExamples = `
Examples:
  rollcall history archive --dry-run                     how many events nobody needs any more
  rollcall history archive --to /mnt/archives            those that are older than 90 days
  rollcall verify --archive /mnt/archives/rollcall-….archive

What the hub knows does not change: of each cluster, token, policy … the newest event of each type stays, and so does everything
that is younger. The file is read again before the first event is deleted, and its digest is on the record. A run that was
stopped goes on when you run it again. Runs where the keys are, while the hub runs: in the directory of \`rollcall up\`, or with
--keys that of \`rollcall install hub\`.`;

export function addHistoryCommands(program: Command): void {
  const history = program.command('history').description('the history of everything that happened');
  withKeys(history.command('archive'))
    .description('move old events that nobody needs any more into a file, so that the stream gets smaller')
    .option('--older-than <duration>', 'of the events; at least 4d', '90d')
    .option('--to <directory>', 'where to keep the file')
    .option('--give-up <file>', 'begin anew where the file of a run that was stopped is lost')
    .option('--dry-run', 'say how many there are, and change nothing')
    .addHelpText('after', archiveExamples)
    .action(async (flags: ArchiveFlags) => {
      const { archiveHistory } = await import('../history/archive-history.ts');
      await archiveHistory(flags);
    });
}
