import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  connectBus,
  handledEvents,
  openEventLog,
  readArchived,
  readEpoch,
  readStream,
  type StreamMessage,
  type StreamName,
  streamState,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { createChainCheck, digestOf } from '@rollcall/shared/events';
import { readHubInfo } from '@rollcall/shared/hub';
import { rollcallVersion } from '@rollcall/shared/service';
import { createXkey } from '@rollcall/shared/trust';
import type { BusFlags } from '../events/bus-access.ts';
import { isHistoryLost } from '../events/say-lost.ts';
import { connectAsInspector } from '../up/state/people-connection.ts';
import { printResult, say } from '../terminal/output.ts';
import { openHubAnywhere } from '../install/hub/hub-in-pods.ts';
import { type HubToRead, kubernetesIn, openHubToRead, ownStateDirectory } from '../verify/hub-to-read.ts';
import { promptPassphrase } from './prompt-passphrase.ts';
import {
  type BackupHeader,
  bodyFields,
  formatVersion,
  type Sealing,
  type StreamLine,
} from './backup-format.ts';
import { readSecretFiles } from './backed-up-files.ts';
import { readPeoplesObjects } from './peoples-objects.ts';
import { newSealing, type Sealer, sealKeys } from './encrypt-keys.ts';
import { temporaryUser } from './temporary-user.ts';
import { type BackupFile, createBackupFile } from './write-backup.ts';

export interface BackupFlags extends BusFlags {
  readonly passphraseFile?: string;
  /** Public X25519 key to seal to, instead of a passphrase. */
  readonly to?: string;
  readonly keys?: string;
  /** Also of a history that is lost or has gaps. */
  readonly allowLoss?: boolean;
}

export interface BackupReport {
  readonly file: string;
  readonly epoch: number;
  readonly events: number;
  readonly throughSequence: number;
  readonly objects: number;
  readonly sizeBytes: number;
}

/** Said now and then while events are copied. */
const tellEvery = 50_000;

/** Whether something can be sealed to it: a letter that was mistyped would be found out once everything is copied. */
function isXkey(text: string): boolean {
  try {
    createXkey().seal(new Uint8Array(), text);
    return true;
  } catch {
    return false;
  }
}

/** @throws RollcallError USAGE */
export async function sealerOf(flags: Pick<BackupFlags, 'passphraseFile' | 'to'>): Promise<Sealer> {
  if (flags.to === undefined)
    return {
      kind: 'passphrase',
      passphrase: await promptPassphrase({ file: flags.passphraseFile, isNew: true }),
    };
  if (!isXkey(flags.to))
    throw new RollcallError(
      'USAGE',
      `--to "${flags.to}" is no public key; \`rollcall backup key FILE\` makes one`,
    );
  return { kind: 'key', recipient: flags.to };
}

/** In a directory, a name that says which hub and when. */
function fileFor(target: string, hubId: string, nowMs: number): string {
  if (!existsSync(target) || !statSync(target).isDirectory()) return target;
  const when = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return join(target, `rollcall-${hubId}-${when}.backup`);
}

/** What the server itself adds to a message, and what only an append needs, is none of it; how long it stays is. */
const isOwn = ([name]: [string, string]) => !/^nats-/i.test(name) || name === 'Nats-TTL';

function ownHeaders(headers: StreamMessage['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(isOwn));
}

export function lineOf(
  stream: StreamName,
  { sequence, subject, timeMs, headers, data }: StreamMessage,
): StreamLine {
  const digest = stream === 'EVENTS' ? { digest: digestOf(subject, headers['ce-id'] ?? '', data) } : {};
  return { stream, sequence, subject, timeMs, headers: ownHeaders(headers), ...bodyFields(data), ...digest };
}

/** What would bring a hub back without the decisions that are missing, and would look like a whole one. */
function refuseLoss(why: string): never {
  throw new RollcallError(
    'HISTORY_LOST',
    `${why}; a backup would have only what is left (--allow-loss makes one all the same)`,
  );
}

/** Up to where somebody has accepted what is missing, by a restore. */
async function acceptedThrough(nc: NatsConnection): Promise<number> {
  const log = await openEventLog(nc, { epoch: 1, source: '/rollcall/cli' });
  const { restored } = await readEpoch(log);
  // The event that says so is the next one, and misses what was before it.
  return restored === undefined ? 0 : restored.throughSequence + 1;
}

async function copyStreams(
  nc: NatsConnection,
  file: BackupFile,
  { header, allowLoss }: { header: BackupHeader; allowLoss: boolean },
): Promise<number> {
  const check = createChainCheck(await readArchived(nc));
  const accepted = await acceptedThrough(nc);
  let events = 0;
  for await (const message of readStream(nc, 'EVENTS', header.throughSequence)) {
    const { problems } = check({ ...message, eventId: message.headers['ce-id'] ?? '' });
    for (const { sequence, message: why } of problems) {
      if (sequence > accepted && !allowLoss) refuseLoss(`event ${sequence}: ${why}`);
      say(`warning: event ${sequence}: ${why}; \`rollcall verify\` says more`);
    }
    await file.write(lineOf('EVENTS', message));
    if (++events % tellEvery === 0) say(`… ${events} of ${header.throughSequence} events`);
  }
  for (const stream of ['FACTS', 'DEAD'] as const) {
    const { lastSequence } = await streamState(nc, stream);
    for await (const message of readStream(nc, stream, lastSequence))
      await file.write(lineOf(stream, message));
  }
  return events;
}

/** What a backup is made from. */
export interface HubToBackUp extends HubToRead {
  readonly hubId: string;
  readonly epoch: number;
  /** The files with the hub's keys, and how to seal them; undefined where they are not at hand. */
  readonly keys: { readonly stateDir: string; readonly sealer: Sealer } | undefined;
  /** As its services say; false where none of them runs. */
  isLost(): Promise<boolean>;
}

/** The hub of a state directory, whose keys are there. */
async function openOwnHub(stateDir: string, flags: BackupFlags): Promise<HubToBackUp> {
  const opened = await openHubAnywhere(stateDir, flags);
  const { address, read } = opened.files;
  const { hubId, epoch, ...hub } = read('hub');
  const sealer = await sealerOf(flags);
  const user = temporaryUser(stateDir, { hubId, epoch, ...hub }, 'backup');
  const nc = await connectBus(address, user, 'backup');
  const client = opened.client ?? kubernetesIn(stateDir);
  async function close(): Promise<void> {
    if (!opened.client) client.close();
    opened.close();
    await nc.close();
  }
  /** Who makes a backup may not ask services. */
  async function isLost(): Promise<boolean> {
    const asking = await connectAsInspector(stateDir, address);
    return isHistoryLost(asking).finally(() => asking.close());
  }
  return { hubId, epoch, keys: { stateDir, sealer }, nc, client, close, isLost };
}

/** Any other hub that can be read. */
async function openHubElsewhere(flags: BackupFlags): Promise<HubToBackUp> {
  const hub = await openHubToRead(flags);
  try {
    const { hubId } = await readHubInfo(hub.client);
    const log = await openEventLog(hub.nc, { epoch: 1, source: '/rollcall/cli' });
    const { restored } = await readEpoch(log);
    const isLost = () => isHistoryLost(hub.nc);
    return { ...hub, hubId, epoch: restored?.epoch ?? 1, keys: undefined, isLost };
  } catch (error) {
    await hub.close();
    throw error;
  }
}

/**
 * Copies everything that a hub is into one file, while it runs: its history up to an event, what it knows now, what people
 * wrote in its API server, and its keys, sealed.
 * @param allowLoss - also of a history that is lost or has gaps
 * @throws RollcallError BACKUP_EXISTS, HISTORY_LOST, BUS_UNREACHABLE, KUBE_UNREACHABLE, DISK_FULL
 */
async function writeBackup(hub: HubToBackUp, target: string, allowLoss: boolean): Promise<BackupReport> {
  const { nc, client, hubId, epoch, keys } = hub;
  const takenAtMs = Date.now();
  const path = fileFor(target, hubId, takenAtMs);
  const file = createBackupFile(path);
  try {
    // First how far the services are, then where the history ends: so nobody is ahead of it.
    const handled = await handledEvents(nc);
    const { lastSequence: throughSequence } = await streamState(nc, 'EVENTS');
    const sealing: Sealing = keys ? newSealing(keys.sealer) : { kind: 'without-keys' };
    const header: BackupHeader = {
      rollcallBackup: formatVersion,
      rollcallVersion,
      hubId,
      epoch,
      takenAtMs,
      throughSequence,
      handled,
      sealing,
    };
    await file.write(header);
    const events = await copyStreams(nc, file, { header, allowLoss });
    const objects = await readPeoplesObjects(client);
    for (const object of objects) await file.write({ object });
    if (keys) {
      const secrets = { contentDigest: file.contentDigest(), files: readSecretFiles(keys.stateDir) };
      await file.write({ keys: sealKeys(secrets, sealing, keys.sealer) });
    }
    const { sizeBytes } = await file.end();
    return { file: path, epoch, events, throughSequence, objects: objects.length, sizeBytes };
  } catch (error) {
    file.abandon();
    throw error;
  }
}

const withoutKeys =
  "no keys: they are where the hub's state directory is. This file restores a hub only where those still are (--keep-kubernetes); back the keys up there";

export async function backup(target: string, flags: BackupFlags): Promise<void> {
  const stateDir = ownStateDirectory(flags);
  const hub = await (stateDir === undefined ? openHubElsewhere(flags) : openOwnHub(stateDir, flags));
  try {
    const { allowLoss = false } = flags;
    if (await hub.isLost()) {
      if (!allowLoss) refuseLoss('the history of this hub is lost or cut');
      say(
        'warning: HISTORY_LOST: the history of this hub is lost or cut, and the backup has what is left of it',
      );
    }
    const report = await writeBackup(hub, target, allowLoss);
    const size =
      report.sizeBytes < 1_048_576
        ? `${Math.ceil(report.sizeBytes / 1024)} KiB`
        : `${Math.ceil(report.sizeBytes / 1_048_576)} MiB`;
    const parts = `${report.events} events up to ${report.throughSequence} of epoch ${report.epoch}, ${report.objects} objects`;
    printResult(`"${report.file}": ${parts}, ${hub.keys ? 'keys sealed' : 'no keys'}; ${size}`);
    if (!hub.keys) say(`warning: ${withoutKeys}`);
  } finally {
    await hub.close();
  }
}
