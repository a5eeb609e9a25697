import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { asBusError } from './bus-error.ts';

interface JszAnswer {
  readonly data?: {
    readonly storage?: number;
    readonly config?: { readonly max_storage?: number };
  };
}

interface HealthAnswer {
  readonly data?: { readonly error?: string };
}

/** How full the place of the history is: 0 to 1, by whichever limit is the nearest; 1 where its servers cannot write it. */
export interface EventSpace {
  readonly usedShare: number;
  readonly usedBytes: number;
  readonly limitBytes: number;
}

const answerWithinMs = 5000;
/** For all servers to say how they are. */
const allAnswerWithinMs = 500;
const cannotWrite = /EVENTS.*write error/;

/** How many servers have given the stream up because their disk took no more. */
async function serversThatCannotWrite(nc: NatsConnection): Promise<number> {
  const answers = await nc.requestMany('rollcall.sys.health', undefined, {
    strategy: 'timer',
    maxWait: allAnswerWithinMs,
  });
  let count = 0;
  for await (const answer of answers)
    if (cannotWrite.test(answer.json<HealthAnswer>().data?.error ?? '')) count++;
  return count;
}

/**
 * Measures stream EVENTS against its own limit (`max_bytes`) and against what the server may write in all
 * (`max_file_store`; three quarters of the free disk where nobody set it).
 * @returns undefined where nothing is limited
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function eventSpace(nc: NatsConnection): Promise<EventSpace | undefined> {
  try {
    const jsm = await jetstreamManager(nc, { checkAPI: false });
    const [{ state, config }, server, withoutRoom] = await Promise.all([
      jsm.streams.info('EVENTS'),
      nc.request('rollcall.sys.jetstream', undefined, { timeout: answerWithinMs }),
      serversThatCannotWrite(nc),
    ]);
    // Who is left is no majority.
    if (withoutRoom * 2 >= config.num_replicas)
      return { usedShare: 1, usedBytes: state.bytes, limitBytes: state.bytes };
    const { data } = server.json<JszAnswer>();
    const places = [
      { usedBytes: state.bytes, limitBytes: config.max_bytes },
      { usedBytes: data?.storage ?? 0, limitBytes: data?.config?.max_storage ?? 0 },
    ];
    return places
      .filter(({ limitBytes }) => limitBytes > 0)
      .map((place) => ({ ...place, usedShare: place.usedBytes / place.limitBytes }))
      .toSorted((a, b) => b.usedShare - a.usedShare)[0];
  } catch (cause) {
    throw asBusError(cause);
  }
}
