import { createInbox, errors, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { hubDomain } from '@rollcall/shared/rights';
import { asBusError } from './bus-error.ts';
import { headText, type RawMessage, rawMessage } from './raw-message.ts';

export type DirectQuery = { readonly batch: number } & (
  | { readonly multi_last: readonly string[]; readonly seq?: number | undefined }
  | { readonly seq: number; readonly next_by_subj?: string | undefined }
);

/** The filters match more than the server answers at once (1,024); it then gives none. */
export class TooManyResults extends Error {}

/** Where pages of the history are asked for (services/projector/give-history.ts). */
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
const tooManyResults = '413';
/** Of who gives pages to those who only watch: others are being served. */
const tooManyRequests = '429';
const askAgainMs = 200;

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

/**
 * Reads messages from a stream without a consumer, in one request.
 *
 * Not by the library: it takes each header apart, which is half of what an event costs to read (measured), and its iterator never
 * takes its subscription back.
 * @param how.take - is given each as it comes
 * @throws TooManyResults; RollcallError BUS_UNREACHABLE
 */
export async function directGetEach(
  nc: NatsConnection,
  stream: string,
  how: DirectQuery & { take(message: RawMessage): void; silenceMs?: number },
): Promise<void> {
  const { take, silenceMs = defaultSilenceMs, ...query } = how;
  const subject = readSubject(nc, stream);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silence = setTimeout(() => reject(new errors.TimeoutError()), silenceMs);
  // As the library's own requests do it: answers to another prefix are not heard.
  const inbox = createInbox(optionsOf(nc).inboxPrefix);
  let askingAgain: NodeJS.Timeout | undefined;
  const ask = () => nc.publish(subject, JSON.stringify(query), { reply: inbox });
  const callback = (error: Error | null, answer: Msg) => {
    if (error) return reject(error);
    const head = headText(answer);
    const message = rawMessage(answer, head);
    if (message) {
      silence.refresh();
      return take(message);
    }
    const status = head.slice('NATS/1.0 '.length, head.indexOf('\r\n'));
    if (status.startsWith(endOfBatch) || status.startsWith(nothingThere)) return resolve();
    if (status.startsWith(tooManyResults)) return reject(new TooManyResults(status));
    if (status.startsWith(tooManyRequests)) return void (askingAgain = setTimeout(ask, askAgainMs));
    reject(new RollcallError('BUS_UNREACHABLE', `the bus cannot read ${stream} now: ${status}`));
  };
  try {
    const subscription = nc.subscribe(inbox, { callback });
    try {
      ask();
      await promise;
    } finally {
      subscription.unsubscribe();
    }
  } catch (cause) {
    throw asBusError(cause);
  } finally {
    clearTimeout(askingAgain);
    clearTimeout(silence);
  }
}
