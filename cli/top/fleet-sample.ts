import { type EventLog, streamSize } from '@rollcall/shared/bus';
import type { NatsConnection } from '@nats-io/transport-node';
import { sequenceInLog } from '../events/sequence-since.ts';
import { askServices, type ServiceReply } from '../status/ask-services.ts';

/** The hub at one point in time, as the bus tells it. */
export interface FleetSample {
  readonly atMs: number;
  readonly answers: readonly ServiceReply[];
  /** Newest sequence of EVENTS; undefined where the stream does not answer. */
  readonly lastSequence: number | undefined;
  /** When clusters joined in the last minute, hub time. */
  readonly joinedAtMs: readonly number[];
}

const joinWindowMs = 60_000;

export interface Sampler {
  next(): Promise<FleetSample>;
}

/** Takes samples one after the other; each reads of the history only what is new. */
export function createSampler(nc: NatsConnection, log: Pick<EventLog, 'scan'>): Sampler {
  let readUntil: number | undefined;
  let joined: number[] = [];
  const joins = (fromSequence: number) => log.scan({ filter: 'cluster.*.joined', fromSequence });

  return {
    async next() {
      const [answers, size] = await Promise.all([askServices(nc), streamSize(nc, 'EVENTS')]);
      const atMs = Date.now();
      const sinceMs = atMs - joinWindowMs;
      const lastSequence = size?.lastSequence;
      if (lastSequence !== undefined) {
        const from = readUntil ?? (await sequenceInLog(log, { sinceMs, lastSequence }));
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
