import {
  createInbox,
  errors,
  type Msg,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { hubDomain } from '@rollcall/shared/rights';
import { asBusError } from '../bus-error.ts';
import { onReconnect } from './on-reconnect.ts';
import { headerIn, headText, type RawMessage, rawMessage } from './raw-message.ts';

export type DirectQuery = {
  readonly batch: number;
  /** The server ends its answer after so many, and it is not asked for the rest. */
  readonly max_bytes?: number;
} & (
  | { readonly multi_last: readonly string[]; readonly seq?: number | undefined }
  | { readonly seq: number; readonly next_by_subj?: string | undefined }
);

/** The filters match more than the server answers at once (1,024); it then gives none. */
export class TooManyResults extends Error {}

/** Where pages of the history are asked for (services/projector/history/give-history.ts). */
export const historySubject = 'rollcall.history.read';

/** Asked for at once: fewer than the server gives. */
export const mostAnswered = 1000;

/** @throws TooManyResults for a full answer, which may be a cut one */
export function wholeAnswer(messages: RawMessage[]): RawMessage[] {
  if (messages.length < mostAnswered) return messages;
  throw new TooManyResults(`${messages.length} messages`);
}

/** The longest silence before an answer and in the middle of it. */
const defaultSilenceMs = 5000;
const endOfBatch = '204';
const nothingThere = '404';
const noResults = 'No Results';
const tooManyResults = '413';
/** Of who gives pages to those who only watch: others are being served. */
const tooManyRequests = '429';
const retryAfterMs = 200;

function optionsOf(nc: NatsConnection): { readonly name?: string; readonly inboxPrefix?: string } {
  const { options } = nc as unknown as { readonly options?: ReturnType<typeof optionsOf> };
  return options ?? {};
}

/** Who only watches has no right to JetStream: a service gives the history in pages. */
export function isWatcher(nc: NatsConnection): boolean {
  return optionsOf(nc).name === 'ops';
}

/** @throws RollcallError BUS_REFUSED */
function readSubject(nc: NatsConnection, stream: string): string {
  if (!isWatcher(nc)) return `$JS.${hubDomain}.API.DIRECT.GET.${stream}`;
  if (stream === 'EVENTS') return historySubject;
  throw new RollcallError('BUS_REFUSED', `stream ${stream} can only be read with inspector.creds`);
}

/** What is there, in the server's order; nothing where there is nothing. As `directGetEach`. */
export async function directGet(
  nc: NatsConnection,
  stream: string,
  query: DirectQuery,
): Promise<RawMessage[]> {
  const found: RawMessage[] = [];
  await directGetEach(nc, stream, { ...query, take: (message) => void found.push(message) });
  return found;
}

/** The newest message of every subject under the filters; an answer may be cut (`wholeAnswer`). As `directGetEach`. */
export function directGetLast(
  nc: NatsConnection,
  stream: string,
  filters: readonly string[],
): Promise<RawMessage[]> {
  return directGet(nc, stream, { multi_last: filters, batch: mostAnswered });
}

/** What an answer says at its end. */
interface Page {
  readonly count: number;
  /** So many more are asked for and were not given: the server ends an answer at 64 MiB. */
  readonly pending: number;
  readonly lastSequence: number;
  /** Of the newest messages of subjects: the end of the stream when it was looked at. */
  readonly upToSequence: number;
}

function unreadable(stream: string): RollcallError {
  const code = stream === 'EVENTS' ? 'HISTORY_LOST' : 'BUS_UNREACHABLE';
  return new RollcallError(code, `a message of stream ${stream} is there and cannot be read`);
}

/** More was said to be there: by a server that has it, while the one that answers now is behind, or cannot read it. */
export function notGiven(stream: string, fromSequence: number): RollcallError {
  const what = `stream ${stream} has more from message ${fromSequence} on, and nothing of it is given`;
  return new RollcallError('BUS_UNREACHABLE', what);
}

/** @returns undefined where nothing is there */
async function askPage(
  nc: NatsConnection,
  stream: string,
  how: {
    query: DirectQuery & { up_to_seq?: number };
    take(message: RawMessage): void;
    silenceMs: number;
  },
): Promise<Page | undefined> {
  const { query, take, silenceMs } = how;
  const subject = readSubject(nc, stream);
  const { promise, resolve, reject } = Promise.withResolvers<Page | undefined>();
  const silence = setTimeout(() => reject(new errors.TimeoutError()), silenceMs);
  let subscription: Subscription | undefined;
  let askingAgain: NodeJS.Timeout | undefined;
  let count = 0;
  function ask(): void {
    clearTimeout(askingAgain);
    subscription?.unsubscribe();
    // As the library's own requests do it: answers to another prefix are not heard. Each time another one, so that no two answers mix.
    const inbox = createInbox(optionsOf(nc).inboxPrefix);
    try {
      subscription = nc.subscribe(inbox, { callback });
      nc.publish(subject, JSON.stringify(query), { reply: inbox });
    } catch (cause) {
      // Of a connection that is closed.
      reject(cause);
    }
  }
  const callback = (error: Error | null, answer: Msg) => {
    if (error) return reject(error);
    const head = headText(answer);
    const message = rawMessage(answer, head);
    if (message) {
      silence.refresh();
      count++;
      return take(message);
    }
    const status = head.slice('NATS/1.0 '.length, head.indexOf('\r\n'));
    const said = (name: string) => Number(headerIn(head, name));
    if (status.startsWith(endOfBatch))
      return resolve({
        count,
        pending: said('Nats-Num-Pending'),
        lastSequence: said('Nats-Last-Sequence'),
        upToSequence: said('Nats-UpTo-Sequence'),
      });
    // Of the newest of subjects that it has the server says the same where it cannot read one.
    if (status.startsWith(nothingThere)) {
      const isDamaged = 'multi_last' in query && !status.includes(noResults) && !isWatcher(nc);
      return isDamaged ? reject(unreadable(stream)) : resolve(undefined);
    }
    if (status.startsWith(tooManyResults)) return reject(new TooManyResults(status));
    if (status.startsWith(tooManyRequests)) return void (askingAgain = setTimeout(ask, retryAfterMs));
    reject(new RollcallError('BUS_UNREACHABLE', `the bus cannot read ${stream} now: ${status}`));
  };
  // In the middle of an answer it is not asked for again: some of it was taken.
  using _ = onReconnect(nc, () => void (count === 0 && ask()));
  try {
    ask();
    return await promise;
  } catch (cause) {
    throw asBusError(cause);
  } finally {
    subscription?.unsubscribe();
    clearTimeout(askingAgain);
    clearTimeout(silence);
  }
}

/**
 * Reads messages from a stream without a consumer, in as many requests as it takes until nothing is pending or as many were read as
 * were asked for; with `max_bytes`, in one.
 *
 * Not by the library: it takes each header apart, which is half of what an event costs to read (measured), and its iterator never
 * takes its subscription back.
 * @param how.take - is given each as it comes
 * @returns how many more there are than were given
 * @throws TooManyResults; RollcallError BUS_UNREACHABLE, also where what is there is not given; HISTORY_LOST
 */
export async function directGetEach(
  nc: NatsConnection,
  stream: string,
  how: DirectQuery & { take(message: RawMessage): void; silenceMs?: number },
): Promise<number> {
  const { take, silenceMs = defaultSilenceMs, ...asked } = how;
  let query: DirectQuery & { up_to_seq?: number } = asked;
  for (;;) {
    const page = await askPage(nc, stream, { query, take, silenceMs });
    if (!page && query === asked) return 0;
    if (!page) throw notGiven(stream, query.seq ?? 1);
    const batch = query.batch - page.count;
    if (page.pending === 0 || batch <= 0 || query.max_bytes !== undefined) return page.pending;
    const upTo = page.upToSequence > 0 ? { up_to_seq: page.upToSequence } : {};
    query = { ...query, ...upTo, batch, seq: page.lastSequence + 1 };
  }
}
