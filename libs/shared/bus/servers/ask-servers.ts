import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { z } from 'zod';

/** Servers answer in some ms; a busy one takes its time. */
const answerWithinMs = 5000;

const statistics = z.looseObject({
  statsz: z.looseObject({ routes: z.array(z.looseObject({ name: z.string() })).nullish() }),
});

/** The server of this connection and those that it has a route to. One that stands still counts until that is closed, some 7 s (measured). */
async function countServers(nc: NatsConnection): Promise<number> {
  const subject = `$SYS.REQ.SERVER.${nc.info?.server_id}.STATSZ`;
  const reply = await nc.request(subject, undefined, { timeout: answerWithinMs });
  const { routes } = statistics.parse(reply.json()).statsz;
  return new Set(routes?.map(({ name }) => name)).size + 1;
}

/**
 * Asks every NATS server for something that each answers for itself, as the SYS user (role `claims`). What one of them does not say is
 * not known, and never taken for nothing.
 * @returns the answers as they come
 * @throws RollcallError BUS_UNREACHABLE after the last one, where a server has not answered
 */
export async function* askServers<Answer>(
  nc: NatsConnection,
  subject: string,
  { body, answer }: { body: object; answer: z.ZodType<Answer> },
): AsyncGenerator<Answer> {
  const count = await countServers(nc);
  const how = { strategy: 'count', maxWait: answerWithinMs, maxMessages: count } as const;
  let answered = 0;
  for await (const message of await nc.requestMany(subject, JSON.stringify(body), how)) {
    answered++;
    yield answer.parse(message.json());
  }
  if (answered < count)
    throw new RollcallError(
      'BUS_UNREACHABLE',
      `${count - answered} of ${count} NATS servers did not answer within ${answerWithinMs / 1000} s`,
    );
}
