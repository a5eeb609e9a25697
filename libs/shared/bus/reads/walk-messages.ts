import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { hubDomain } from '@rollcall/shared/rights';
import { readRequest } from './on-reconnect.ts';
import { headText, type RawMessage, rawMessage } from './raw-message.ts';

/** Each is a look into a block that the server has just read. */
const looksAtOnce = 4;
const sequencesAtOnce = 2000;
/** Of a long stretch without any of them the server reads all. */
const answerWithinMs = 20_000;

/** @returns undefined where none follows */
async function nextMessage(
  nc: NatsConnection,
  stream: string,
  question: { seq: number; next_by_subj: string },
): Promise<RawMessage | undefined> {
  const subject = `$JS.${hubDomain}.API.DIRECT.GET.${stream}`;
  // Not as a batch: for each of these the server counts how many there are in all.
  const answer = await readRequest(nc, subject, {
    question: JSON.stringify(question),
    timeoutMs: answerWithinMs,
  });
  const head = headText(answer);
  const message = rawMessage(answer, head);
  if (message || head.startsWith('NATS/1.0 404')) return message;
  throw new RollcallError('BUS_UNREACHABLE', `the bus cannot read ${stream} now: ${head.split('\r\n')[0]}`);
}

/**
 * Reads every message under a filter, also those that are not the newest of their subject, roughly in their order. Each costs the
 * server the same, however many there are.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function walkMessages(
  nc: NatsConnection,
  { stream, filter, throughSequence }: { stream: string; filter: string; throughSequence: number },
  take: (message: RawMessage) => void,
): Promise<void> {
  let next = 1;
  async function look(): Promise<void> {
    while (next <= throughSequence) {
      let at = next;
      const end = Math.min(next + sequencesAtOnce, throughSequence + 1);
      next = end;
      while (at < end) {
        const message = await nextMessage(nc, stream, { seq: at, next_by_subj: filter });
        at = message?.sequence ?? Infinity;
        if (at < end && message) take(message);
        // Nobody looks again where there is none.
        else next = Math.max(next, at);
        at++;
      }
    }
  }
  await Promise.all(Array.from({ length: looksAtOnce }, look));
}
