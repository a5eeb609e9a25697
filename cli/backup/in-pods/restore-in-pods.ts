import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { shellWord } from '@rollcall/shared/hub';
import { untilBusIsThere } from '@rollcall/shared/service';
import { exitCodes } from '../../exit-code.ts';
import { openHubAnywhere, type OpenedHub, runsInPods } from '../../install/hub/hub-in-pods.ts';
import type { HubPlacesFlags } from '../../install/hub/hub-places.ts';
import { printResult, say } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { openHubFiles } from '../../trust/hub-files.ts';
import { makeStreams, setupUser } from '../../up/nats/nats-server.ts';
import { writePrivate } from '../../up/private-files.ts';
import {
  knownEpochs,
  type RestoreInPods,
  restoreInPodsUnderWay,
  restoreNote,
  restoringDirectory,
} from '../../up/state/half-restored.ts';
import { serverCountOf } from '../../up/state/nats-servers-of.ts';
import { applyRestoredObjects, keepRestoredObjects } from '../../up/state/restored-objects.ts';
import { lockState } from '../../up/state/state-lock.ts';
import { enterEpoch } from '../begin-epoch.ts';
import { nextEpoch } from '../next-epoch.ts';
import { checkKept } from '../open-backup.ts';
import { checkRoom, putInPlace } from '../put-in-place.ts';
import type { CheckedBackup } from '../read-backup.ts';
import { fillStreams, placeConsumers } from '../refill-streams.ts';
import type { Opener } from '../encrypt-keys.ts';
import { writeHubFiles } from '../write-hub-files.ts';
import { howToEmptyVolumes, withHowToEmpty } from './empty-volumes.ts';
import { type Found, type HubThere, hubThere, lookBefore } from './inspect-hub.ts';
import { isWhole } from './refuse-while-services-write.ts';
import { takeIdentities } from './take-identities.ts';

interface Options {
  /** The directory with the keys. */
  readonly stateDir: string;
  readonly opener: Opener;
  readonly keepKubernetes: boolean;
  readonly epoch: number | undefined;
  readonly flags: HubPlacesFlags;
}

/** The one that was begun, which no other backup goes on with; undefined: none is. */
function begun({ header }: CheckedBackup, stateDir: string): RestoreInPods | undefined {
  const note = restoreInPodsUnderWay(stateDir);
  if (!note || (note.hubId === header.hubId && note.takenAtMs === header.takenAtMs)) return note;
  const which = `of hub "${note.hubId}", taken at ${new Date(note.takenAtMs).toISOString()}`;
  throw new RollcallError('RESTORE_UNFINISHED', `the restore of another backup is not over: ${which}`);
}

/**
 * From here on the services of the hub get no identity. Keys that are there are newer than those of the backup, and agents know the
 * hub by them; into an empty directory come those of the backup.
 * @returns undefined: the hub has all else and goes on, only its keys were put back
 */
async function begin(backup: CheckedBackup, options: Options): Promise<RestoreInPods | undefined> {
  const { stateDir, keepKubernetes, epoch, flags } = options;
  const { hubId, takenAtMs, epoch: ofBackup } = backup.header;
  const there = await hubThere(flags);
  // Where the directory with the keys was lost, only the cluster knows of a restore since the backup.
  const known = [ofBackup, ...knownEpochs(stateDir), there.epoch];
  const note = { hubId, takenAtMs, epoch: nextEpoch(known, epoch) };
  if (!keepKubernetes) return beginWithKeys(backup, note, { ...options, there });
  const found = await lookBefore(backup, { directory: stateDir, flags, there });
  if (found && found.goOn.length > 0)
    throw new RollcallError(
      'STATE_NOT_EMPTY',
      `${isWhole(found.goOn).message}: ${howToEmptyVolumes(found.servers)}`,
    );
  const kept = noted(note, found);
  writePrivate(join(stateDir, restoreNote), JSON.stringify(kept));
  return kept;
}

const noted = (note: RestoreInPods, found: Found | undefined): RestoreInPods =>
  found?.agentClaims === undefined ? note : { ...note, agentClaims: found.agentClaims };

async function beginWithKeys(
  backup: CheckedBackup,
  note: RestoreInPods,
  { stateDir, opener, flags, there }: Options & { readonly there: HubThere },
): Promise<RestoreInPods | undefined> {
  const files = backup.open(opener);
  checkRoom(stateDir, false);
  const directory = join(stateDir, restoringDirectory);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  let kept: RestoreInPods | undefined;
  try {
    writeHubFiles(files, { directory, stateDir, epoch: note.epoch });
    const found = await lookBefore(backup, { directory, flags, there });
    if (found && found.goOn.length > 0) {
      // Only the directory with the keys was lost.
      writeHubFiles(files, { directory, stateDir, epoch: found.epoch });
    } else {
      kept = noted(note, found);
      keepRestoredObjects(directory, backup.objects, backup.header.epoch);
      writePrivate(join(directory, restoreNote), JSON.stringify(kept));
    }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  putInPlace(directory, stateDir);
  return kept;
}

/** Servers that have just started have to find a leader first. */
const serversAgreeWithinMs = 120_000;

async function fill(
  backup: CheckedBackup,
  stateDir: string,
  { files }: OpenedHub,
  { epoch, agentClaims }: RestoreInPods,
): Promise<void> {
  const { address } = files;
  const found = files.read('hub');
  const known = agentClaims === undefined ? {} : { [found.keys.agents]: agentClaims };
  const hub = { ...found, epoch, accountJwts: { ...found.accountJwts, ...known } };
  const replicas = serverCountOf(stateDir);
  const until = AbortSignal.timeout(serversAgreeWithinMs);
  let missing: RollcallError | undefined;
  await untilBusIsThere(() => makeStreams(address, setupUser(stateDir), replicas), {
    until,
    onMissing: (why) => (missing = why),
  }).catch((error: unknown) => {
    throw until.aborted ? (missing ?? error) : error;
  });
  await fillStreams(backup, { address, directory: stateDir, hub }).catch((error: unknown) => {
    throw withHowToEmpty(error, replicas, { code: 'RESTORE_UNFINISHED' });
  });
  await placeConsumers(address, { directory: stateDir, handled: backup.header.handled, replicas });
}

/**
 * Last the note goes: whoever was stopped before finishes it by the same command.
 * @returns which objects of people the API server refused, and why
 */
async function finish(
  stateDir: string,
  { files, client }: OpenedHub,
  epoch: number,
): Promise<readonly string[]> {
  enterEpoch(stateDir, epoch);
  const { refused } = client ? await applyRestoredObjects(client, stateDir) : { refused: [] };
  await files.tellHub();
  await files.publish();
  rmSync(join(stateDir, restoreNote));
  return refused;
}

/** All else is restored; a script must not go on as if these were there. */
const objectsRefused = (refused: readonly string[]): RollcallError =>
  new RollcallError(
    'KUBE_API',
    `the hub is restored, and ${refused.length} objects of people are not there: ${refused.join('; ')}; \`rollcall restore FILE --objects\` prints all of them, for \`kubectl create -f -\` once that is mended`,
  );

/** @throws RollcallError HUB_MISSING, HUB_WRONG, USAGE: the directory has no keys, those of another hub, or one of `rollcall up` */
function checkKeys(stateDir: string, { header }: CheckedBackup): void {
  if (!existsSync(join(stateDir, 'hub.json'))) {
    const message = `"${stateDir}" has no keys of a hub: without --keep-kubernetes they come from the backup`;
    throw new RollcallError('HUB_MISSING', message);
  }
  if (!runsInPods(openHubFiles(stateDir)))
    throw new RollcallError(
      'USAGE',
      `the hub of "${stateDir}" is one of \`rollcall up\`: give it as --state-dir`,
    );
  checkKept(stateDir, header);
}

/**
 * Fills the servers of a hub in a cluster over the bus, as the owner of its keys, while its services have no identity and so cannot
 * run: neither an installer nor Kubernetes starts one over a half of the history. Nothing that the servers have is deleted.
 * @throws RollcallError STATE_NOT_EMPTY, STATE_IN_USE, RESTORE_UNFINISHED where servers have something else, HUB_WRONG, USAGE,
 * BACKUP_LOCKED, BACKUP_INVALID, BUS_UNREACHABLE, DEADLINE_EXCEEDED; KubeApiError
 */
export async function restoreInPods(backup: CheckedBackup, options: Options): Promise<void> {
  const { stateDir, flags } = options;
  if (options.keepKubernetes || restoreInPodsUnderWay(stateDir)) checkKeys(stateDir, backup);
  else checkRoom(stateDir, false);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const unlock = lockState(stateDir);
  try {
    const note = begun(backup, stateDir) ?? (await begin(backup, options));
    if (!note) {
      printResult(
        `"${stateDir}" has the keys of the hub again, which has its history and goes on; nothing else was changed`,
      );
      return;
    }
    if ((await hubThere(flags)).servers === undefined) {
      printResult(
        `"${stateDir}" has the keys of the hub, and there are no servers to fill. Install them with these keys (\`rollcall install hub --keys ${shellWord(stateDir)} --advertise …\`, where agents know the hub to be, with the values that it had), and run this command again: it fills them, and then the services begin`,
      );
      // Nothing is restored yet: what comes after in a script must not go on.
      process.exitCode = exitCodes.held;
      return;
    }
    const opened = await openHubAnywhere(stateDir, flags, { restoring: true });
    try {
      const { workloads } = opened;
      if (!workloads) throw new RollcallError('USAGE', `the hub of "${stateDir}" is one of \`rollcall up\``);
      const services = readdirSync(join(stateDir, 'identities')).map((file) => file.replace('.json', ''));
      await withProgress('stopping the services', takeIdentities(workloads, services));
      say('the services are stopped, and start again when all is there');
      await withProgress('restoring', fill(backup, stateDir, opened, note));
      const refused = await finish(stateDir, opened, note.epoch);
      printResult(
        `"${stateDir}": ${backup.events} events; epoch ${note.epoch} begins. The services start: \`rollcall status\` says when they run. Agents come back by themselves, and tokens wait for \`rollcall token renew NAME\`.`,
      );
      if (refused.length > 0) throw objectsRefused(refused);
    } finally {
      opened.close();
    }
  } finally {
    unlock();
  }
}
