import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import {
  aggregateSubjects,
  type Archived,
  archiveAggregate,
  archived,
  decodeEvent,
} from '@rollcall/shared/events';
import { hubDomain } from '@rollcall/shared/rights';
import { z } from 'zod';
import { asBusError } from '../bus-error.ts';
import { directGetLast } from '../reads/direct-get.ts';
import type { RawMessage } from '../reads/raw-message.ts';
import { streamManager } from '../stream-manager.ts';

/** What is missing from the stream on purpose, as the newest event about it says. */
export interface ArchivedEvents extends Archived {
  readonly epoch: number;
  /** That word cannot be read here: the numbers are the most that it can be about. */
  readonly isOfNewerVersion?: true;
}

const { subject } = aggregateSubjects(archiveAggregate, archived.type);

/** Of a newer version's word only its place and its epoch are known: it may be about everything that was missing by then. */
function archivedByNewer({ sequence, data }: RawMessage): ArchivedEvents | undefined {
  try {
    const { epoch } = z
      .looseObject({ epoch: z.int().min(1) })
      .parse(JSON.parse(new TextDecoder().decode(data)));
    return {
      epoch,
      isOfNewerVersion: true,
      file: 'unknown',
      digest: 'sha256:',
      events: sequence,
      throughSequence: sequence,
      total: sequence,
      ofEpoch: sequence,
      isDone: true,
      operator: 'unknown',
    };
  } catch {
    return undefined;
  }
}

/**
 * @returns undefined where nothing was ever archived. Where a newer version has archived last, everything before its word may be in
 *   an archive: what is missing there cannot be told from what was lost
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function readArchived(nc: NatsConnection): Promise<ArchivedEvents | undefined> {
  const [message] = await directGetLast(nc, 'EVENTS', [subject]);
  if (!message) return undefined;
  try {
    const { epoch, section } = decodeEvent(message);
    // The cast is sound: decodeEvent has parsed the section.
    return { ...(section as Archived), epoch };
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    // Of garbage nothing is known to be missing on purpose.
    return error.code === 'EVENT_VERSION_UNKNOWN' ? archivedByNewer(message) : undefined;
  }
}

/** Streams of earlier versions refuse it for ever. */
export async function letsDelete(nc: NatsConnection): Promise<boolean> {
  const jsm = await streamManager(nc);
  const { config } = await jsm.streams.info('EVENTS').catch((cause: unknown) => {
    throw asBusError(cause);
  });
  return !config.deny_delete;
}

/** Deletions on their way at once. */
const window = 64;

/**
 * Deletes single events. For the roles `archive` and `restore`; whoever calls it has made sure that an archive has them.
 * @throws RollcallError BUS_UNREACHABLE; some of them are deleted then
 */
export async function deleteEvents(
  nc: NatsConnection,
  sequences: Iterable<number> | AsyncIterable<number>,
): Promise<number> {
  const underWay = new Set<Promise<void>>();
  let failure: unknown;
  let count = 0;
  async function deleteOne(sequence: number): Promise<void> {
    // The place is not overwritten before it is given back: no event has a secret.
    const asked = JSON.stringify({ seq: sequence, no_erase: true });
    const answer = await nc.request(`$JS.${hubDomain}.API.STREAM.MSG.DELETE.EVENTS`, asked, {
      timeout: 10_000,
    });
    const { success, error } = answer.json<{ success?: boolean; error?: { description?: string } }>();
    if (success !== true)
      throw new RollcallError(
        'BUS_UNREACHABLE',
        `event ${sequence} was not deleted: ${error?.description ?? 'the server does not say why'}`,
      );
    count++;
  }
  for await (const sequence of sequences) {
    const work = deleteOne(sequence)
      .catch((thrown: unknown) => void (failure ??= asBusError(thrown)))
      .finally(() => underWay.delete(work));
    underWay.add(work);
    if (underWay.size >= window) await Promise.race(underWay);
    if (failure !== undefined) break;
  }
  await Promise.all(underWay);
  if (failure !== undefined) throw failure;
  return count;
}
