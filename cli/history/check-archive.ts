import { createHash } from 'node:crypto';
import { digestOf } from '@rollcall/shared/events';
import { z } from 'zod';
import { type BackupLine, bodyOf, damaged, parseLine, type StreamLine } from '../backup/backup-format.ts';
import { textLines } from '../backup/read-backup.ts';

/** Raised when an older Rollcall could not read the file any more. */
export const archiveVersion = 1;

const headerSchema = z.object({
  rollcallArchive: z.literal(archiveVersion),
  rollcallVersion: z.string(),
  hubId: z.string(),
  epoch: z.int().min(1),
  madeAtMs: z.int(),
  /** The last event that was old enough to be looked at. */
  throughSequence: z.int().min(1),
});
export type ArchiveHeader = z.infer<typeof headerSchema>;

/** An archive that was read to its end and found whole. */
export interface CheckedArchive {
  readonly header: ArchiveHeader;
  /** Of all but its last line, as the event about it says it. */
  readonly digest: string;
  /** Digest of each event in it, by sequence, in order. */
  readonly events: ReadonlyMap<number, string>;
}

function parseHeader(text: string): ArchiveHeader {
  try {
    const header = headerSchema.safeParse(JSON.parse(text));
    if (header.success) return header.data;
  } catch {
    // No JSON either.
  }
  throw damaged('this is no archive of a history, or of a later Rollcall');
}

function eventDigest(line: BackupLine, header: ArchiveHeader, after: number): readonly [number, string] {
  if (!('stream' in line) || line.stream !== 'EVENTS') throw damaged('it has something that is no event');
  const { sequence, subject, headers, digest = '' } = line;
  if (sequence <= after || sequence > header.throughSequence)
    throw damaged(`event ${sequence} is not where the archive says it is`);
  if (digestOf(subject, headers['ce-id'] ?? '', bodyOf(line)) !== digest)
    throw damaged(`event ${sequence} was changed after the archive was written`);
  return [sequence, digest];
}

/**
 * Reads an archive to its end before anything is believed: that it is one, whole, and unchanged since it was written. Whether it is
 * the one that the history names is said by its digest.
 * @throws RollcallError BACKUP_INVALID, USAGE
 */
export async function checkArchive(path: string): Promise<CheckedArchive> {
  const hash = createHash('sha256');
  const events = new Map<number, string>();
  let header: ArchiveHeader | undefined;
  let digest: string | undefined;
  let last = 0;
  let count = 0;
  for await (const text of textLines(path)) {
    count++;
    if (digest !== undefined) throw damaged(`line ${count} stands after the end`);
    if (!header) {
      header = parseHeader(text);
      hash.update(`${text}\n`);
      continue;
    }
    const line = parseLine(text, count);
    if ('end' in line) {
      digest = `sha256:${hash.copy().digest('hex')}`;
      if (line.end.digest !== digest || line.end.lines !== count)
        throw damaged('it was changed after it was written');
      continue;
    }
    hash.update(`${text}\n`);
    const [sequence, ofEvent] = eventDigest(line, header, last);
    events.set(sequence, ofEvent);
    last = sequence;
  }
  if (!header || digest === undefined) throw damaged(`"${path}" ends in the middle`);
  return { header, digest, events };
}

/** The events of an archive that was checked, oldest first; the file is read again. */
export async function* eventsIn(path: string): AsyncIterable<StreamLine> {
  let number = 0;
  for await (const text of textLines(path)) {
    const line = ++number > 1 ? parseLine(text, number) : undefined;
    if (line && 'stream' in line) yield line;
  }
}
