import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  deleteEvents,
  type EventLog,
  handledByAll,
  isNoRoom,
  letsDelete,
  openEventLog,
  readDeadLetters,
  readStream,
  type StreamMessage,
  streamState,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateRecord,
  type Archived,
  archiveAggregate,
  archived,
  digestOf,
  draft,
} from '@rollcall/shared/events';
import { rollcallVersion } from '@rollcall/shared/service';
import { lineOf } from '../backup/backup.ts';
import { createBackupFile } from '../backup/write-backup.ts';
import { type ArchiveHeader, archiveVersion, checkArchive, type CheckedArchive } from './check-archive.ts';
import { type Choice, type OldEvent, whatMayGo } from './what-may-go.ts';

/** A hub whose history is to be archived; `nc` is of role `archive`. */
export interface HubToArchive {
  readonly nc: NatsConnection;
  readonly hubId: string;
  readonly epoch: number;
}

export interface ArchiveReport {
  readonly file: string;
  readonly events: number;
  readonly throughSequence: number;
  /** Of the stream, before and after. */
  readonly bytes: readonly [number, number];
}

const digestOfMessage = ({ subject, headers, data }: StreamMessage) =>
  digestOf(subject, headers['ce-id'] ?? '', data);

/** Reads the history as far as it is old enough, and says what of it may go. */
export async function chooseEvents(nc: NatsConnection, olderThanMs: number): Promise<Choice> {
  const handledThrough = await handledByAll(nc);
  const named = new Set((await readDeadLetters(nc)).map(({ sequence }) => sequence));
  const { lastSequence } = await streamState(nc, 'EVENTS');
  const events: OldEvent[] = [];
  for await (const { sequence, subject, timeMs } of readStream(nc, 'EVENTS', lastSequence)) {
    if (timeMs >= olderThanMs) break;
    events.push({ sequence, subject, storedAtMs: timeMs });
  }
  return whatMayGo(events, { olderThanMs, handledThrough, named });
}

function fileName(hubId: string, nowMs: number): string {
  return `rollcall-${hubId}-${new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.archive`;
}

/** Writes the chosen events, and reads the file again before anybody relies on it. */
async function writeArchive(
  hub: HubToArchive,
  chosen: Choice,
  { path, nowMs }: { path: string; nowMs: number },
): Promise<CheckedArchive> {
  const { nc, hubId, epoch } = hub;
  const { throughSequence } = chosen;
  const goes = new Set(chosen.sequences);
  const file = createBackupFile(path);
  try {
    const header: ArchiveHeader = {
      rollcallArchive: archiveVersion,
      rollcallVersion,
      hubId,
      epoch,
      madeAtMs: nowMs,
      throughSequence,
    };
    await file.write(header);
    for await (const message of readStream(nc, 'EVENTS', throughSequence))
      if (goes.has(message.sequence)) await file.write(lineOf('EVENTS', message));
    await file.end();
  } catch (error) {
    file.abandon();
    throw error;
  }
  const archive = await checkArchive(path);
  const isWhole =
    archive.events.size === goes.size && chosen.sequences.every((one) => archive.events.has(one));
  if (isWhole) return archive;
  throw new RollcallError('BACKUP_INVALID', `"${path}" does not have what was to be written into it`);
}

/**
 * Deletes what the archive has, after each of these events in the stream was compared with the one in the file. What is deleted
 * already is left out, so that it can be called again.
 */
async function deleteArchived(nc: NatsConnection, { header, events }: CheckedArchive): Promise<void> {
  const there: number[] = [];
  for await (const message of readStream(nc, 'EVENTS', header.throughSequence)) {
    const expected = events.get(message.sequence);
    if (expected === undefined) continue;
    if (digestOfMessage(message) !== expected)
      throw new RollcallError(
        'BACKUP_INVALID',
        `event ${message.sequence} of the stream is not the one that the archive has; this run has deleted nothing`,
      );
    there.push(message.sequence);
  }
  await deleteEvents(nc, there);
}

/** What the history says of archives so far. */
interface ArchiveState {
  readonly log: EventLog;
  readonly record: AggregateRecord;
  readonly last: (Archived & { readonly epoch: number }) | undefined;
}

async function archiveStateOf({ nc, epoch }: HubToArchive): Promise<ArchiveState> {
  const log = await openEventLog(nc, { epoch, source: '/rollcall/archive' });
  const record = await log.read(archiveAggregate);
  const event = record.lastOf.archive;
  // The cast is sound: the section was parsed by the schema of its event.
  return { log, record, last: event && { ...(event.section as Archived), epoch: event.epoch } };
}

/** After what was read before: of two runs, one is refused. */
async function note({ log, record }: ArchiveState, section: Archived): Promise<void> {
  const { events, file, isDone, operator, throughSequence } = section;
  const state = isDone ? 'were deleted from the stream' : 'are being deleted from the stream';
  const message = `${events} events up to ${throughSequence} are in "${file}" and ${state}, by ${operator}`;
  const reason = isDone ? 'Archived' : 'Archiving';
  const event = draft(archived, record, { reason, message, section });
  await log.append([event], { correlation: 'archive' });
}

const isUnfinished = ({ last }: ArchiveState, epoch: number) =>
  last?.isDone === false && last.epoch === epoch;

/** @returns the file of the archiving of this epoch that was stopped before it was done */
export async function unfinishedArchive(hub: HubToArchive): Promise<string | undefined> {
  const state = await archiveStateOf(hub);
  return isUnfinished(state, hub.epoch) ? state.last?.file : undefined;
}

/** @throws RollcallError USAGE for streams that an earlier version made */
export async function checkMayDelete(nc: NatsConnection): Promise<void> {
  if (await letsDelete(nc)) return;
  const why = 'the stream of events was made by an earlier version and lets nobody delete, for ever';
  throw new RollcallError('USAGE', `${why}; a restore of a backup makes it anew`);
}

/**
 * Goes on with the archiving that is on the record and not done, by the same file.
 * @throws RollcallError USAGE where the file is not there, BACKUP_INVALID, APPEND_CONFLICT, BUS_UNREACHABLE
 */
export async function finishArchive(hub: HubToArchive, directory: string): Promise<ArchiveReport> {
  const { nc, epoch } = hub;
  const state = await archiveStateOf(hub);
  const { last } = state;
  if (!last || !isUnfinished(state, epoch))
    throw new RollcallError('APPEND_CONFLICT', 'the archiving was ended by another run meanwhile');
  const path = join(directory, last.file);
  const archive = await checkArchive(path);
  if (archive.digest !== last.digest)
    throw new RollcallError('BACKUP_INVALID', `"${path}" is not the archive that the history names`);
  const before = (await streamState(nc, 'EVENTS')).bytes;
  await deleteArchived(nc, archive);
  const { epoch: _epoch, ...section } = last;
  await note(state, { ...section, isDone: true });
  const { bytes } = await streamState(nc, 'EVENTS');
  const { events, header } = archive;
  return { file: path, events: events.size, throughSequence: header.throughSequence, bytes: [before, bytes] };
}

/**
 * Archives what may go: a file first, that is read again; then the event that says so; then, one by one, the deletions. Stopped at
 * any moment, it leaves a history that is whole, and `finishArchive` goes on.
 * @returns undefined where nothing may go
 * @throws RollcallError BACKUP_EXISTS, BACKUP_INVALID, DISK_FULL, APPEND_CONFLICT, BUS_UNREACHABLE
 */
export async function archiveEvents(
  hub: HubToArchive,
  how: {
    directory: string;
    olderThanMs: number;
    nowMs: number;
    operator: string;
    /** File of the archiving that was stopped and cannot go on, as the file is lost: what it had deleted is lost with it. */
    giveUp?: string | undefined;
  },
): Promise<ArchiveReport | undefined> {
  const { nc, hubId, epoch } = hub;
  const { directory, olderThanMs, nowMs, operator, giveUp } = how;
  const state = await archiveStateOf(hub);
  const { last } = state;
  if (isUnfinished(state, epoch) && last?.file !== giveUp)
    throw new RollcallError('APPEND_CONFLICT', 'another archiving is not done');
  const chosen = await chooseEvents(nc, olderThanMs);
  const events = chosen.sequences.length;
  if (events === 0) return undefined;
  const file = fileName(hubId, nowMs);
  const { digest } = await writeArchive(hub, chosen, { path: join(directory, file), nowMs });
  const { messages, lastSequence } = await streamState(nc, 'EVENTS');
  const missing = lastSequence - messages;
  const section = {
    file,
    digest,
    events,
    operator,
    throughSequence: Math.max(last?.throughSequence ?? 0, chosen.throughSequence),
    // One that was not finished counted more than was deleted.
    total: Math.min(last?.total ?? 0, missing) + events,
    ofEpoch: Math.min(last?.epoch === epoch ? last.ofEpoch : 0, missing) + events,
    isDone: false,
  };
  await note(state, section).catch((cause: unknown) => {
    if (!isNoRoom(cause)) throw cause;
    // Named by nobody, and each further try would leave one more.
    rmSync(join(directory, file), { force: true });
    const what = 'stream EVENTS has no room for the event that must be there before the first is deleted';
    throw new RollcallError('DISK_FULL', `${what}; give it a few MiB more and run this again`, { cause });
  });
  return finishArchive(hub, directory);
}
