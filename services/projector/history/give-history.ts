import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import {
  type DirectQuery,
  directGetEach,
  type RawMessage,
  historySubject,
  sentOnHeaders,
  streamState,
  TooManyResults,
} from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { z } from 'zod';

/** Of one page, read and given; what is asked for beyond is said to be pending, as JetStream says it. */
const mostBytes = 4 * 1024 * 1024;
/** How long the history is costs one question for all who ask, and everything that reads begins with it: no place of a page is needed. */
const stateQuestion = '{"state":true}';
/** A page, and how many subjects one question names: what reads a record or a screen full, and costs the stream little. */
const mostEvents = 1000;
const mostSubjects = 500;
/** Read at once by one replica; whoever asks more often is told to ask again. */
const mostOpen = 4;

const subject = z.string().max(256).startsWith('rollcall.events.');
const batch = z.int().min(1).max(mostEvents);
const question = z.union([
  z.strictObject({ state: z.literal(true) }),
  z.strictObject({ seq: z.int().min(1), batch, next_by_subj: subject.optional() }),
  z.strictObject({
    multi_last: z.array(subject).min(1).max(mostSubjects),
    batch,
    seq: z.int().min(1).optional(),
  }),
]);

function parse(message: Msg): z.output<typeof question> | undefined {
  try {
    return question.safeParse(message.json()).data;
  } catch {
    return undefined;
  }
}

/**
 * Gives who only watches the history of stream EVENTS in pages, in the form in which JetStream answers a direct get. They have no
 * right to JetStream itself, where one question could ask for everything.
 * @returns how to stop, after the pages that are being read
 */
export function giveHistory(nc: NatsConnection, logger: Logger): { drain(): Promise<void> } {
  const open = new Set<Promise<void>>();
  let pages = 0;
  let looking: ReturnType<typeof streamState> | undefined;
  const stateNow = () =>
    (looking ??= streamState(nc, 'EVENTS').finally(() => {
      looking = undefined;
    }));

  function end(message: Msg, code: number, why: string, said: Readonly<Record<string, number>> = {}): void {
    const all = headers(code, why);
    for (const [name, value] of Object.entries(said)) all.set(name, String(value));
    if (!nc.isClosed()) message.respond('', { headers: all });
  }

  async function givePage(message: Msg, query: DirectQuery): Promise<void> {
    const events: RawMessage[] = [];
    const keep = (event: RawMessage) => void events.push(event);
    const rest = await directGetEach(nc, 'EVENTS', { ...query, max_bytes: mostBytes, take: keep });
    for (const event of events) {
      const all = Object.fromEntries(event.headerNames().map((name) => [name, event.header(name)]));
      message.respond(event.data, { headers: sentOnHeaders(all) });
    }
    const last = events.at(-1);
    if (!last) return end(message, 404, 'Message Not Found');
    end(message, 204, 'EOB', { 'Nats-Num-Pending': rest, 'Nats-Last-Sequence': last.sequence });
  }

  async function give(message: Msg): Promise<void> {
    const asked = parse(message);
    if (!asked) return end(message, 408, 'Bad Request');
    try {
      if ('state' in asked) message.respond(JSON.stringify(await stateNow()));
      else await givePage(message, asked);
    } catch (thrown) {
      if (thrown instanceof TooManyResults) return end(message, 413, 'Too Many Results');
      logger.warn({ err: toRollcallError(thrown) }, 'a page of the history could not be read');
      end(message, 503, 'Not Readable Now');
    }
  }

  function take(message: Msg): void {
    const isPage = message.string() !== stateQuestion;
    if (isPage && pages >= mostOpen) return end(message, 429, 'Too Many Requests');
    if (isPage) pages++;
    const work = give(message).finally(() => {
      open.delete(work);
      if (isPage) pages--;
    });
    open.add(work);
  }

  const subscription = nc.subscribe(historySubject, {
    queue: 'projector',
    callback: (error, message) => {
      if (!error) take(message);
    },
  });
  return {
    async drain() {
      subscription.unsubscribe();
      await Promise.allSettled(open);
    },
  };
}
