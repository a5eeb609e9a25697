import type { NatsConnection } from '@nats-io/transport-node';
import { readArchived, readStream, streamState } from '@rollcall/shared/bus';
import {
  type Archived,
  archived as archivedEvent,
  archiveAggregate,
  type ChainMessage,
  createChainCheck,
  type EpochRecord,
  parseEventSubject,
} from '@rollcall/shared/events';
import { bodyOf } from '../backup/backup-format.ts';
import { checkArchive, eventsIn } from '../history/check-archive.ts';
import { inOrder } from './in-order.ts';
import { type Finding, finding } from './finding.ts';

/** What an object says that it was made from (principle 1). */
export interface Witness {
  readonly object: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly digest: string | undefined;
}

/** Whether the event that a witness names was left behind when the hub was restored: no loss that nobody knows of. */
function isOfFormerEpoch(
  { epoch, sequence }: Witness,
  hub: { epoch: number; restored: EpochRecord['restored'] },
) {
  return epoch < hub.epoch && hub.restored !== undefined && sequence > hub.restored.throughSequence;
}

export interface CheckedHistory {
  readonly events: number;
  readonly lastSequence: number;
  /** Events that are only in archives which were not given. */
  readonly archived: number;
  readonly findings: Finding[];
}

async function* ofStream(nc: NatsConnection, lastSequence: number): AsyncIterable<ChainMessage> {
  for await (const { sequence, subject, headers, data } of readStream(nc, 'EVENTS', lastSequence))
    yield { sequence, subject, eventId: headers['ce-id'] ?? '', data };
}

async function* ofArchive(path: string): AsyncIterable<ChainMessage> {
  for await (const line of eventsIn(path)) {
    const { sequence, subject, headers } = line;
    yield { sequence, subject, eventId: headers['ce-id'] ?? '', data: bodyOf(line) };
  }
}

/** @returns the digest of the archive that the event is about; undefined for any other event */
function archiveNamedBy({ subject, data }: ChainMessage): string | undefined {
  const { kind, id, type } = parseEventSubject(subject) ?? {};
  if (kind !== archiveAggregate.kind || id !== archiveAggregate.id || type !== archivedEvent.type)
    return undefined;
  try {
    const { section } = JSON.parse(new TextDecoder().decode(data)) as { section?: Partial<Archived> };
    return section?.digest;
  } catch {
    return undefined;
  }
}

/**
 * Reads the whole history: nothing missing but what archives have, each event after the one it names, and every witness true.
 * @param witnesses - read before: whatever they name must be in the stream by now
 * @param archives - files that are read as parts of it
 * @throws RollcallError BACKUP_INVALID, USAGE for an archive that cannot be read
 */
export async function checkHistory(
  nc: NatsConnection,
  { witnesses, archives }: { witnesses: readonly Witness[]; archives: readonly string[] },
  hub: { epoch: number; restored: EpochRecord['restored'] },
): Promise<CheckedHistory> {
  const digests = new Map<string, string>();
  for (const path of archives) digests.set(path, (await checkArchive(path)).digest);
  const { lastSequence } = await streamState(nc, 'EVENTS');
  const archivedPart = await readArchived(nc);
  const findings: Finding[] = [];
  const bySequence = Map.groupBy(
    witnesses.filter((witness) => !isOfFormerEpoch(witness, hub)),
    ({ sequence }) => sequence,
  );
  const check = createChainCheck(archivedPart);
  const named = new Set<string>();
  let [events, archived] = [0, 0];
  for await (const message of inOrder([ofStream(nc, lastSequence), ...archives.map(ofArchive)])) {
    events++;
    const { sequence, subject } = message;
    const ofArchives = archiveNamedBy(message);
    if (ofArchives !== undefined) named.add(ofArchives);
    const { digest, problems, archived: soFar } = check(message);
    archived = soFar;
    for (const { kind, message: why } of problems)
      findings.push(
        finding(kind === 'missing' ? 'EventsMissing' : 'ChainBroken', `event ${sequence} (${subject})`, why),
      );
    for (const witness of bySequence.get(sequence) ?? []) {
      if (witness.digest !== undefined && witness.digest !== digest)
        findings.push(
          finding(
            'EventDiffers',
            witness.object,
            `it was made from event ${sequence} ${witness.digest}, and the stream has ${digest} there`,
          ),
        );
    }
    bySequence.delete(sequence);
  }
  for (const [path, digest] of digests) {
    if (!named.has(digest))
      findings.push(finding('ArchiveUnknown', path, 'no event of the history is about this archive'));
  }
  for (const witness of [...bySequence.values()].flat()) {
    // What an archive has was compared when it was shown, and is counted.
    if (witness.sequence <= (archivedPart?.throughSequence ?? 0)) continue;
    const says = `it was made from event ${witness.sequence} of epoch ${witness.epoch}, and the stream ends at ${lastSequence}`;
    findings.push(finding('TailLost', witness.object, says));
  }
  return { events, lastSequence, archived, findings };
}
