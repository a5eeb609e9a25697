import { existsSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { connectBus } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { temporaryUser } from '../backup/temporary-user.ts';
import { durationFlagMs } from '../duration-flag.ts';
import { type KeysFlags, openHubAnywhere } from '../install/hub/hub-in-pods.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { account } from '../trust/who-rotates.ts';
import { lockState } from '../up/state/state-lock.ts';
import {
  archiveEvents,
  type ArchiveReport,
  checkMayDelete,
  chooseEvents,
  finishArchive,
  type HubToArchive,
  unfinishedArchive,
} from './write-archive.ts';

export interface ArchiveFlags extends KeysFlags {
  readonly olderThan: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly giveUp?: string;
}

/**
 * What is not the newest of its subject is asked for by nobody for longer than a credential lives, which is what a key on the list
 * of those taken back stays there for (73 hours), and the counts of a day; the rest is room for clocks. A month would leave no way
 * out of a place that has been filled within days.
 */
const leastAgeMs = 4 * 86_400_000;

/** @throws RollcallError USAGE */
function ageOf({ olderThan }: ArchiveFlags): number {
  const ageMs = durationFlagMs('--older-than', olderThan);
  if (ageMs >= leastAgeMs) return ageMs;
  throw new RollcallError('USAGE', `--older-than must be at least ${leastAgeMs / 86_400_000}d`);
}

/** @throws RollcallError USAGE */
function directoryOf({ to, dryRun }: ArchiveFlags): string {
  if (to === undefined && dryRun === true) return '.';
  if (to === undefined) throw new RollcallError('USAGE', 'say by --to which directory keeps the archive');
  if (existsSync(to) && statSync(to).isDirectory()) return to;
  throw new RollcallError('USAGE', `there is no directory "${to}"`);
}

const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;

function reportText({ file, events, throughSequence, bytes: [before, after] }: ArchiveReport): string {
  return `"${file}": ${events} events up to ${throughSequence}, read again and deleted from the stream: ${mebibytes(before)} before, ${mebibytes(after)} now. Keep the file with your backups`;
}

async function archive(hub: HubToArchive, flags: ArchiveFlags): Promise<void> {
  const nowMs = Date.now();
  const olderThanMs = nowMs - ageOf(flags);
  const directory = directoryOf(flags);
  const begun = await unfinishedArchive(hub);
  if (flags.dryRun) {
    if (begun) say(`"${begun}" was begun and is not done: the next run goes on with it`);
    const { sequences, throughSequence } = await withProgress(
      'reading the history',
      chooseEvents(hub.nc, olderThanMs),
    );
    printResult(`${sequences.length} events up to ${throughSequence} would be archived`);
    say('dry run; nothing was changed');
    return;
  }
  await checkMayDelete(hub.nc);
  const { giveUp } = flags;
  if (giveUp !== undefined && giveUp !== begun)
    throw new RollcallError('USAGE', `"${giveUp}" is not the file of a run that was begun and is not done`);
  if (begun !== undefined && giveUp === undefined) {
    say(`going on with "${begun}", which an earlier run has begun`);
    printResult(reportText(await withProgress('deleting', finishArchive(hub, directory))));
    return;
  }
  const how = {
    directory,
    olderThanMs,
    nowMs,
    operator: `${account()} on ${hostname()}`.slice(0, 300),
    giveUp,
  };
  const report = await withProgress('archiving', archiveEvents(hub, how));
  printResult(
    report
      ? reportText(report)
      : `nothing of before ${new Date(olderThanMs).toISOString()} may go; nothing was changed (--older-than 4d takes what is younger)`,
  );
}

/**
 * `rollcall history archive`, on the machine that holds the hub's keys.
 * @throws RollcallError USAGE, HUB_MISSING, KEYS_OFFLINE, STATE_IN_USE, BACKUP_INVALID, DISK_FULL, BUS_UNREACHABLE
 */
export async function archiveHistory(flags: ArchiveFlags): Promise<void> {
  ageOf(flags);
  directoryOf(flags);
  const { files, close } = await openHubAnywhere(flags.keys ?? stateDirectory(), flags);
  const { stateDir, address } = files;
  const unlock = lockState(stateDir, 'archive.lock');
  try {
    const { hubId, epoch, ...state } = files.read('hub');
    const user = temporaryUser(stateDir, { hubId, epoch, ...state }, 'archive');
    const nc = await connectBus(address, user, 'archive');
    try {
      await archive({ nc, hubId, epoch }, flags);
    } finally {
      await nc.close();
    }
  } finally {
    unlock();
    close();
  }
}
