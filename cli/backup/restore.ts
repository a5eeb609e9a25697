import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KeysFlags } from '../install/hub/hub-in-pods.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { checkStatePlace } from '../state-place.ts';
import { loopbackPorts } from '../up/loopback-ports.ts';
import { endLeftovers } from '../up/leftovers.ts';
import { startNatsServer } from '../up/nats/nats-server.ts';
import {
  isHalfRestored,
  knownEpochs,
  movedAsidePrefix,
  restoringDirectory,
} from '../up/state/half-restored.ts';
import { keepRestoredObjects } from '../up/state/restored-objects.ts';
import { lockState } from '../up/state/state-lock.ts';
import { nextEpoch } from './next-epoch.ts';
import { checkKept, type OpeningFlags, openerOf } from './open-backup.ts';
import { checkRoom, putInPlace, startHint, syncFiles } from './put-in-place.ts';
import { type CheckedBackup, checkBackup } from './read-backup.ts';
import { fillStreams, placeConsumers } from './refill-streams.ts';
import type { Opener } from './encrypt-keys.ts';
import { writeHubFiles } from './write-hub-files.ts';

export interface RestoreFlags extends OpeningFlags, KeysFlags {
  readonly stateDir?: string;
  readonly keepKubernetes?: boolean;
  readonly epoch?: string;
}

export interface RestoreReport {
  readonly epoch: number;
  readonly events: number;
  readonly throughSequence: number;
  readonly takenAtMs: number;
  /** Where the hub that was there before is now. */
  readonly movedTo: string | undefined;
}

/**
 * Makes a hub from a backup that was checked and opened. It is put together beside what is there and moved into its place at the
 * end, so that a restore which fails, or is killed, leaves what was there before.
 * @throws RollcallError STATE_NOT_EMPTY, STATE_IN_USE, HUB_WRONG, USAGE, BACKUP_LOCKED, BACKUP_INVALID, DISK_FULL
 */
export async function restoreHub(
  backup: CheckedBackup,
  options: { stateDir: string; opener: Opener; keepKubernetes?: boolean; epoch?: number | undefined },
): Promise<RestoreReport> {
  const { stateDir, keepKubernetes = false } = options;
  const { header } = backup;
  const files = backup.open(options.opener);
  checkRoom(stateDir, keepKubernetes);
  if (keepKubernetes) checkKept(stateDir, header);
  const unlock = lockState(stateDir);
  const directory = join(stateDir, restoringDirectory);
  let isBeingPut = false;
  const wasHalfRestored = isHalfRestored(stateDir);
  try {
    // A server of a killed run would go on writing into what is moved aside here, and agents would find that one.
    await endLeftovers(stateDir);
    const epoch = nextEpoch([header.epoch, ...knownEpochs(stateDir)], options.epoch);
    if (!wasHalfRestored) rmSync(directory, { recursive: true, force: true });
    else renameSync(directory, join(stateDir, `${movedAsidePrefix}half-${Date.now()}`));
    const hub = writeHubFiles(files, { directory, stateDir, epoch });
    // Not where agents look for the hub: nobody may be let in before all is there.
    const { nats: port } = await loopbackPorts(join(directory, 'restore-ports.json'), ['nats']);
    const nats = await startNatsServer(hub, {
      stateDir: directory,
      port,
      advertised: [],
      nowMs: Date.now(),
      withoutSync: true,
    });
    try {
      await fillStreams(backup, { address: nats.address, directory, hub });
      await placeConsumers(nats.address, { directory, handled: header.handled, replicas: 1 });
    } finally {
      await nats.server.stop();
    }
    syncFiles(join(directory, 'nats', 'jetstream'));
    if (!keepKubernetes) keepRestoredObjects(directory, backup.objects, header.epoch);
    isBeingPut = true;
    const movedTo = putInPlace(directory, stateDir);
    const { throughSequence, takenAtMs } = header;
    return { epoch, events: backup.events, throughSequence, takenAtMs, movedTo };
  } finally {
    // From there on it is the new hub, or a part of it, and says that the last step is not done.
    if (!isBeingPut) rmSync(directory, { recursive: true, force: true });
    // What an earlier restore left half done is still neither the old hub nor a new one, and has to be seen as that.
    if (!isBeingPut && wasHalfRestored) mkdirSync(directory, { mode: 0o700 });
    unlock();
  }
}

export async function restore(path: string, flags: RestoreFlags): Promise<void> {
  const stateDir = flags.keys ?? flags.stateDir ?? stateDirectory();
  const keepKubernetes = flags.keepKubernetes ?? false;
  if (flags.keys === undefined) {
    checkStatePlace(stateDir);
    checkRoom(stateDir, keepKubernetes);
  }
  const checked = await withProgress(`reading "${path}"`, checkBackup(path));
  const { header } = checked;
  say(
    `hub ${header.hubId}, epoch ${header.epoch}, taken at ${new Date(header.takenAtMs).toISOString()} by Rollcall ${header.rollcallVersion}`,
  );
  if (header.sealing.kind !== 'passphrase')
    say('warning: nothing in the file shows who made it: restore it only from where nobody else can write');
  const opener = await openerOf(header, flags, stateDir);
  const epoch = flags.epoch === undefined ? undefined : Number(flags.epoch);
  if (flags.keys !== undefined) {
    const { restoreInPods } = await import('./in-pods/restore-in-pods.ts');
    return restoreInPods(checked, { stateDir, opener, keepKubernetes, epoch, flags });
  }
  const report = await withProgress(
    'restoring',
    restoreHub(checked, { stateDir, opener, keepKubernetes, epoch }),
  );
  if (report.movedTo !== undefined) say(`the hub that was there is in "${report.movedTo}"`);
  printResult(
    `"${stateDir}": ${report.events} events; epoch ${report.epoch} begins. Start it with ${startHint(flags.stateDir)}; agents come back by themselves, and tokens wait for \`rollcall token renew NAME\`.`,
  );
}
