import type { NatsConnection } from '@nats-io/transport-node';
import { streamManager } from './stream-manager.ts';
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
}

const answerWithinMs = 5000;
/** For all servers to say how they are. */
const allAnswerWithinMs = 500;
/** A server that is alone gives the stream up when its disk takes no more; one of several switches its JetStream off (2.15.2). */
const cannotWrite = /EVENTS.*write error|JetStream not enabled/;

/** Whether the servers that can still write are no majority of those that answer. */
async function areDisksFull(nc: NatsConnection): Promise<boolean> {
  const answers = await nc.requestMany('rollcall.sys.health', undefined, {
    strategy: 'timer',
    maxWait: allAnswerWithinMs,
  });
  let [all, full] = [0, 0];
  for await (const answer of answers) {
    all++;
    if (cannotWrite.test(answer.json<HealthAnswer>().data?.error ?? '')) full++;
  }
  return all > 0 && full * 2 >= all;
}

/**
 * Measures stream EVENTS against its own limit (`max_bytes`) and against what the server may write in all
 * (`max_file_store`; three quarters of the free disk where nobody set it).
 * @returns undefined where nothing is limited
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function eventSpace(nc: NatsConnection): Promise<EventSpace | undefined> {
  try {
    const jsm = await streamManager(nc);
    // First: without a majority nobody answers for the stream.
    if (await areDisksFull(nc)) return { usedShare: 1 };
    const [{ state, config }, server] = await Promise.all([
      jsm.streams.info('EVENTS'),
      nc.request('rollcall.sys.jetstream', undefined, { timeout: answerWithinMs }),
    ]);
    const { data } = server.json<JszAnswer>();
    const places = [
      { usedBytes: state.bytes, limitBytes: config.max_bytes },
      { usedBytes: data?.storage ?? 0, limitBytes: data?.config?.max_storage ?? 0 },
    ];
    return places
      .filter(({ limitBytes }) => limitBytes > 0)
      .map(({ usedBytes, limitBytes }) => ({ usedShare: usedBytes / limitBytes }))
      .toSorted((a, b) => b.usedShare - a.usedShare)[0];
  } catch (cause) {
    throw asBusError(cause);
  }
}
