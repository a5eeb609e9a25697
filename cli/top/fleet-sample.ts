import { type EventLog, streamSize } from '@rollcall/shared/bus';
import type { NatsConnection } from '@nats-io/transport-node';
import { askServices, type ServiceAnswer } from '../status/ask-services.ts';

/** The hub at one point in time, as the bus tells it. */
export interface FleetSample {
  readonly atMs: number;
  readonly answers: readonly ServiceAnswer[];
  /** Newest sequence of EVENTS; undefined where the stream does not answer. */
  readonly lastSequence: number | undefined;
  /** When clusters joined in the last minute, hub time. */
  readonly joinedAtMs: readonly number[];
}

/** How many events are looked at first. */
const lookBack = 5000;
const joinWindowMs = 60_000;

/**
 * Where to read from to see everything since a time: twice as far back for as long as all that is found there is younger. A fleet
 * that is coming in writes thousands of events a minute.
 * @param firstMsFrom - when the first event of those that are looked for was, from a sequence on; undefined where there is none
 */
export async function sequenceSince(
  sinceMs: number,
  lastSequence: number,
  firstMsFrom: (sequence: number) => Promise<number | undefined>,
): Promise<number> {
  for (let back = lookBack; ; back *= 2) {
    const from = Math.max(1, lastSequence - back);
    if (from === 1 || ((await firstMsFrom(from)) ?? 0) < sinceMs) return from;
  }
}

export interface Sampler {
  next(): Promise<FleetSample>;
}

/** Takes samples one after the other; each reads of the history only what is new. */
export function createSampler(nc: NatsConnection, log: Pick<EventLog, 'scan'>): Sampler {
  let readUntil: number | undefined;
  let joined: number[] = [];
  const joins = (fromSequence: number) => log.scan({ filter: 'cluster.*.joined', fromSequence });

  async function firstMsFrom(sequence: number): Promise<number | undefined> {
    for await (const { timeMs } of joins(sequence)) return timeMs;
    return undefined;
  }

  return {
    async next() {
      const [answers, size] = await Promise.all([askServices(nc), streamSize(nc, 'EVENTS')]);
      const atMs = Date.now();
      const sinceMs = atMs - joinWindowMs;
      const lastSequence = size?.lastSequence;
      if (lastSequence !== undefined) {
        const from = readUntil ?? (await sequenceSince(sinceMs, lastSequence, firstMsFrom));
        for await (const event of joins(from)) {
          joined.push(event.timeMs);
          readUntil = event.sequence + 1;
        }
        readUntil = Math.max(readUntil ?? 1, lastSequence + 1);
      }
      joined = joined.filter((joinedAtMs) => joinedAtMs > sinceMs);
      return { atMs, answers, lastSequence, joinedAtMs: joined };
    },
  };
}
