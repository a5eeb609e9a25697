import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  type BusAddress,
  connectBus,
  deleteEvents,
  forgetConsumers,
  openEventLog,
  refillStream,
  setUpStreams,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { draft, epochAggregate, restored } from '@rollcall/shared/events';
import { printResult, say } from '../output.ts';
import { withProgress } from '../progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { checkStatePlace } from '../state-place.ts';
import { loopbackPorts } from '../up/control-plane/control-plane-ports.ts';
import { endLeftovers } from '../up/leftovers.ts';
import {
  hubsPutAside,
  isHalfRestored,
  knownEpochs,
  movedAsidePrefix,
  restoringDirectory,
} from '../up/state/half-restored.ts';
import { type HubState, openHubState } from '../up/state/hub-state.ts';
import { startNatsServer } from '../up/nats/nats-server.ts';
import { readState, writePrivate } from '../up/private-files.ts';
import { renewHubState } from '../up/state/renew-hub-state.ts';
import { natsPorts } from '../up/state/nats-servers-of.ts';
import { keepRestoredObjects } from '../up/state/restored-objects.ts';
import { fingerprintsOut, type Revocations, revocationsIn, unionOf } from '../up/state/revocations-of.ts';
import { lockState } from '../up/state/state-lock.ts';
import { promptPassphrase } from './prompt-passphrase.ts';
import type { BackupHeader } from './backup-format.ts';
import { readSecretFiles } from './hub-secrets.ts';
import { type CheckedBackup, checkBackup } from './read-backup.ts';
import { asMessages, type Gaps, withoutGaps } from './stream-messages.ts';
import type { Opener } from './sealed-keys.ts';
import { temporaryUser } from './temporary-user.ts';

export interface RestoreFlags {
  readonly passphraseFile?: string;
  /** Seed of the X25519 key that the backup was sealed to. */
  readonly keyFile?: string;
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

/** What stays where it is while a hub is put in the place of another. */
const staying = new Set(['kubernetes', 'up.lock', restoringDirectory]);
const isMovedAside = (name: string) => name.startsWith(movedAsidePrefix);

const hubIn = (directory: string) => readState<HubState>(join(directory, 'hub.json'));

/** Of the hub that is there, or of the one that a restore put aside which was stopped in its last step. */
function keysOfHubThere(stateDir: string, header: BackupHeader): Opener {
  const places = isHalfRestored(stateDir) ? hubsPutAside(stateDir) : [stateDir];
  const place = places.find((directory) => existsSync(join(directory, 'hub.json')));
  const there = place === undefined ? undefined : hubIn(place);
  if (place === undefined || !there) {
    throw new RollcallError(
      'BACKUP_WITHOUT_KEYS',
      `the backup has no keys, and there is no hub in "${stateDir}" that has them`,
    );
  }
  checkIsOf(there, header, place);
  return { kind: 'files', files: readSecretFiles(place) };
}

function checkIsOf(there: HubState, header: BackupHeader, directory: string): void {
  if (there.hubId === header.hubId) return;
  const message = `the backup is of hub "${header.hubId}", and what is in "${directory}" is of hub "${there.hubId}"`;
  throw new RollcallError('HUB_WRONG', message);
}

/** What stays of Kubernetes has to be of the same hub: else its objects and policies would speak of another one's clusters. */
function checkKept(stateDir: string, header: BackupHeader): void {
  if (knownEpochs(stateDir)[0] === undefined) return;
  const there = hubIn(stateDir);
  if (there) checkIsOf(there, header, stateDir);
}

/** @throws RollcallError BACKUP_WITHOUT_KEYS, BACKUP_LOCKED, HUB_WRONG */
async function openerOf(header: BackupHeader, flags: RestoreFlags, stateDir: string): Promise<Opener> {
  const { sealing } = header;
  if (sealing.kind === 'without-keys') return keysOfHubThere(stateDir, header);
  if (sealing.kind === 'passphrase')
    return {
      kind: 'passphrase',
      passphrase: await promptPassphrase({ file: flags.passphraseFile, isNew: false }),
    };
  if (flags.keyFile === undefined)
    throw new RollcallError(
      'BACKUP_LOCKED',
      `the backup is sealed to the key ${sealing.recipient}; give --key-file`,
    );
  return { kind: 'key', seed: readFileSync(flags.keyFile, 'utf8').trim() };
}

/** @throws RollcallError STATE_NOT_EMPTY, HUB_IN_PODS */
function checkRoom(stateDir: string, keepKubernetes: boolean): void {
  const found = existsSync(stateDir) ? readdirSync(stateDir) : [];
  const inTheWay = found.filter(
    (name) => name !== 'up.lock' && name !== restoringDirectory && !isMovedAside(name),
  );
  if (keepKubernetes && found.includes('hub.json') && natsPorts(stateDir).length === 0) {
    throw new RollcallError(
      'HUB_IN_PODS',
      `"${stateDir}" has the keys of a hub whose history is in a cluster`,
    );
  }
  // What an interrupted restore left is no hub: it is put aside.
  if (keepKubernetes || inTheWay.length === 0 || isHalfRestored(stateDir)) return;
  throw new RollcallError(
    'STATE_NOT_EMPTY',
    `"${stateDir}" has a hub already (${inTheWay.slice(0, 3).join(', ')} …)`,
  );
}

/**
 * One more than any epoch that is known of: two epochs of the same number could not be told apart.
 * @param known - undefined: one that nobody can read any more
 * @param asked - by a person who knows of a later one
 * @throws RollcallError USAGE
 */
export function nextEpoch(known: readonly (number | undefined)[], asked: number | undefined): number {
  const least = Math.max(...known.map((epoch) => epoch ?? 0)) + 1;
  if (asked === undefined && known.includes(undefined)) {
    const message = `the epoch of the hub that was there cannot be read: give one that it never had, --epoch ${least} where it was not restored since this backup`;
    throw new RollcallError('USAGE', message);
  }
  if (asked === undefined) return least;
  if (Number.isInteger(asked) && asked >= least) return asked;
  throw new RollcallError('USAGE', `--epoch must be a whole number of at least ${least}`);
}

/** The same keys and rights; only the number of the epoch is another. */
function inEpoch(path: string, text: string, epoch: number): string {
  if (path !== 'hub.json' && !path.startsWith('identities/')) return text;
  return JSON.stringify({ ...(JSON.parse(text) as object), epoch }, undefined, 2);
}

/** Also of a hub that a restore put aside which was stopped in its last step. */
function revokedBefore(stateDir: string, agentsAccount: string): Revocations {
  const places = [stateDir, ...(isHalfRestored(stateDir) ? hubsPutAside(stateDir) : [])];
  return unionOf(places.map((place) => revocationsIn(place, agentsAccount)));
}

/**
 * @param to.stateDir - of the hub that was there: who was put out since the backup is on its revocation list, and stays out. Nothing
 *   else is as lasting a witness of a cluster that has left
 */
function writeFiles(
  files: Readonly<Record<string, string>>,
  to: { directory: string; stateDir: string; epoch: number },
): HubState {
  const { directory, stateDir, epoch } = to;
  for (const [path, text] of Object.entries(files))
    writePrivate(join(directory, path), inEpoch(path, text, epoch));
  const hub = openHubState(directory, Date.now());
  const alsoRevoked = revokedBefore(stateDir, hub.keys.agents);
  renewHubState(hub, directory, Date.now(), { alsoRevoked });
  return openHubState(directory, Date.now());
}

async function fillStreams(
  backup: CheckedBackup,
  to: { address: BusAddress; directory: string; hub: HubState },
): Promise<void> {
  const { address, directory, hub } = to;
  const { header } = backup;
  const nc = await connectBus(address, temporaryUser(directory, hub, 'restore'), 'restore');
  try {
    const gaps: Gaps = { sequences: [], isArchived: false };
    await refillStream(nc, withoutGaps(backup.messages('EVENTS'), gaps), { sameSequences: true });
    // What archives have takes no place here either.
    if (gaps.isArchived) await deleteEvents(nc, gaps.sequences);
    // State, and told anew: what is shown of an earlier epoch is older.
    const anew = { 'rollcall-epoch': String(hub.epoch) };
    await refillStream(nc, asMessages(backup.messages('FACTS'), anew), { sameSequences: false });
    await refillStream(nc, asMessages(backup.messages('DEAD')), { sameSequences: false });
    const log = await openEventLog(nc, { epoch: hub.epoch, source: '/rollcall/restore' });
    const takenAt = new Date(header.takenAtMs).toISOString();
    await log.append(
      [
        draft(restored, await log.read(epochAggregate, { unknownAsGarbage: true }), {
          reason: 'Restored',
          message: `epoch ${hub.epoch} begins, from a backup of ${takenAt} with ${header.throughSequence} events of epoch ${header.epoch}`,
          section: {
            epoch: hub.epoch,
            throughSequence: header.throughSequence,
            backupTakenAtMs: header.takenAtMs,
            outKeys: fingerprintsOut(directory, hub),
          },
        }),
      ],
      { correlation: 'restore' },
    );
    // Made anew where they were; set-up itself may delete none.
    await forgetConsumers(nc);
  } finally {
    await nc.close();
  }
}

/** Services go on where they were, and not from the first event of all. */
async function placeConsumers(
  address: BusAddress,
  directory: string,
  handled: Readonly<Record<string, number>>,
): Promise<void> {
  const setup = readState<{ bus: { jwt: string; seed: string } }>(
    join(directory, 'identities', 'setup.json'),
  );
  if (!setup) throw new RollcallError('BACKUP_INVALID', 'the identity that makes the streams is not in it');
  const nc = await connectBus(address, setup.bus, 'setup');
  try {
    await setUpStreams(nc, { replicas: 1, handled });
  } finally {
    await nc.close();
  }
}

/** Kept means on disk: file by file once, and not at each of ten thousands of appends. */
function syncFiles(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const fd = openSync(join(entry.parentPath, entry.name), 'r');
    fsyncSync(fd);
    closeSync(fd);
  }
}

/** @returns where the hub that was there is now */
function putInPlace(directory: string, stateDir: string): string | undefined {
  const before = readdirSync(stateDir).filter((name) => !staying.has(name) && !isMovedAside(name));
  const movedTo = join(stateDir, `before-restore-${new Date().toISOString().replaceAll(':', '')}`);
  if (before.length > 0) mkdirSync(movedTo, { mode: 0o700 });
  // First the file that says that there is a hub: who is stopped from here on leaves none, and that is seen.
  for (const name of before.toSorted((a, b) => Number(b === 'hub.json') - Number(a === 'hub.json')))
    renameSync(join(stateDir, name), join(movedTo, name));
  // And last here.
  const notOfTheHub = new Set(['logs', 'run', 'restore-ports.json', 'hub.json']);
  const names = readdirSync(directory).filter((name) => !notOfTheHub.has(name));
  for (const name of [...names, 'hub.json']) renameSync(join(directory, name), join(stateDir, name));
  rmSync(directory, { recursive: true, force: true });
  return before.length > 0 ? movedTo : undefined;
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
    const hub = writeFiles(files, { directory, stateDir, epoch });
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
      await placeConsumers(nats.address, directory, header.handled);
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
  const stateDir = flags.stateDir ?? stateDirectory();
  checkStatePlace(stateDir);
  const keepKubernetes = flags.keepKubernetes ?? false;
  checkRoom(stateDir, keepKubernetes);
  const checked = await withProgress(`reading "${path}"`, checkBackup(path));
  const { header } = checked;
  say(
    `hub ${header.hubId}, epoch ${header.epoch}, taken at ${new Date(header.takenAtMs).toISOString()} by Rollcall ${header.rollcallVersion}`,
  );
  const opener = await openerOf(header, flags, stateDir);
  const epoch = flags.epoch === undefined ? undefined : Number(flags.epoch);
  const report = await withProgress(
    'restoring',
    restoreHub(checked, { stateDir, opener, keepKubernetes, epoch }),
  );
  if (report.movedTo !== undefined) say(`the hub that was there is in "${report.movedTo}"`);
  printResult(
    `"${stateDir}": ${report.events} events; epoch ${report.epoch} begins. Start it with \`rollcall up\`; agents come back by themselves, and tokens wait for \`rollcall token renew NAME\`.`,
  );
}
