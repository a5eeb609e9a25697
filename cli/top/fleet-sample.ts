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

/** How many events at most are looked at for joins of the minute before the first frame. */
const lookBack = 5000;
const joinWindowMs = 60_000;

export interface Sampler {
  next(): Promise<FleetSample>;
}

/** Takes samples one after the other; each reads of the history only what is new. */
export function createSampler(nc: NatsConnection, log: Pick<EventLog, 'scan'>): Sampler {
  let readUntil: number | undefined;
  let joined: number[] = [];
  return {
    async next() {
      const [answers, size] = await Promise.all([askServices(nc), streamSize(nc, 'EVENTS')]);
      const atMs = Date.now();
      const lastSequence = size?.lastSequence;
      if (lastSequence !== undefined) {
        const from = readUntil ?? Math.max(1, lastSequence - lookBack);
        for await (const event of log.scan({ filter: 'cluster.*.joined', fromSequence: from })) {
          joined.push(event.timeMs);
          readUntil = event.sequence + 1;
        }
        readUntil = Math.max(readUntil ?? 1, lastSequence + 1);
      }
      joined = joined.filter((joinedAtMs) => joinedAtMs > atMs - joinWindowMs);
      return { atMs, answers, lastSequence, joinedAtMs: joined };
    },
  };
}
