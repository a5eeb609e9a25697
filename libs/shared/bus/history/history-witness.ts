import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { digestOf } from '@rollcall/shared/events';
import { decodeJwt } from '@rollcall/shared/trust';
import { z } from 'zod';
import { asBusError } from '../bus-error.ts';
import { directGet } from '../reads/direct-get.ts';
import { readArchived } from './history-archive.ts';
import { streamManager } from '../stream-manager.ts';
import { notBehind } from '../reads/up-to-date.ts';

/** An event that the history had, and how many others were missing by then that no archive has. */
const witnessSchema = z.object({
  epoch: z.int().positive(),
  sequence: z.int().positive(),
  digest: z.string().max(100),
  missing: z.int().nonnegative().optional(),
});
export type HistoryWitness = z.output<typeof witnessSchema>;

/** What can be told of stream EVENTS without reading it. */
export interface HistoryState {
  readonly messages: number;
  readonly lastSequence: number;
  /** What archives of this epoch have, so that it may be missing. */
  readonly archived?: { readonly events: number; readonly throughSequence: number };
}

/** @returns undefined for what is no witness */
export function parseWitness(text: string): HistoryWitness | undefined {
  try {
    return witnessSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Nothing is ever deleted from EVENTS but what an archive has, so whatever else it does not have it has lost. While an archiving is
 * under way, less is missing than may be.
 */
export function missingOf({ messages, lastSequence, archived }: HistoryState): number {
  return Math.max(0, lastSequence - messages - (archived?.events ?? 0));
}

/**
 * Why this is not the history that a witness saw. Pure.
 * @param there - digest of the event with the sequence of the witness; undefined: it cannot be read
 */
export function whyLost(
  witness: HistoryWitness,
  state: HistoryState,
  there: string | undefined,
): string | undefined {
  const { sequence, digest, missing } = witness;
  if (state.lastSequence < sequence)
    return `the history ends at event ${state.lastSequence}, and event ${sequence} was there`;
  // What may be in an archive is one of those that are counted.
  const mayBeArchived = sequence <= (state.archived?.throughSequence ?? 0);
  if (there === undefined && !mayBeArchived)
    return `event ${sequence} of the history was there and cannot be read`;
  if (there !== undefined && there !== digest)
    return `event ${sequence} of the history is not the one that was there`;
  const gone = missing === undefined ? 0 : missingOf(state) - missing;
  return gone > 0 ? `${gone} events are missing in the middle of the history` : undefined;
}

/**
 * What the servers keep beside the streams; undefined where nobody has said so yet.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function keptWitness(nc: NatsConnection): Promise<HistoryWitness | undefined> {
  try {
    const jwt = (await nc.request('rollcall.sys.witness', '', { timeout: 2000 })).string();
    const text = decodeJwt(jwt)?.nats['description'];
    return typeof text === 'string' ? parseWitness(text) : undefined;
  } catch (cause) {
    throw asBusError(cause);
  }
}

/** "stream not found". */
const noStreamCode = 10_059;

/**
 * A stream that is gone, while services run, is a history without events: whoever knows of one knows that it is lost.
 * @param epoch - of the hub: what was archived before counts as the gaps that its history began with
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function historyState(nc: NatsConnection, epoch: number): Promise<HistoryState> {
  try {
    const jsm = await streamManager(nc);
    const { messages, last_seq: lastSequence } = (await jsm.streams.info('EVENTS')).state;
    if (messages === lastSequence) return { messages, lastSequence };
    // After the count: an archive is on the record before its first event is deleted.
    const record = await readArchived(nc);
    if (record?.epoch !== epoch) return { messages, lastSequence };
    const { ofEpoch: events, throughSequence } = record;
    return { messages, lastSequence, archived: { events, throughSequence } };
  } catch (cause) {
    if (cause instanceof JetStreamApiError && cause.code === noStreamCode)
      return { messages: 0, lastSequence: 0 };
    throw asBusError(cause);
  }
}

/** Digest of an event as later events and witnesses name it; undefined: it is not there, whoever is asked. */
export async function digestAt(nc: NatsConnection, sequence: number): Promise<string | undefined> {
  const read = () => directGet(nc, 'EVENTS', { seq: sequence, batch: 1 });
  const isThere = ([message]: Awaited<ReturnType<typeof read>>) => message?.sequence === sequence;
  // A server of several may be behind for a moment.
  const isAlone = nc.info?.cluster === undefined;
  const [message] = isAlone ? await read() : await notBehind(sequence, read, isThere).catch(() => read());
  if (message?.sequence !== sequence) return undefined;
  return digestOf(message.subject, message.header('ce-id'), message.data);
}
