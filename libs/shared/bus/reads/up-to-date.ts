import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';

/** A replica that comes back catches up in less; whoever waits for it longer is asked again later. */
const behindForMs = 3000;
/** Mostly a replica is behind by one round trip between the servers. */
const firstPauseMs = 1;
const longestPauseMs = 20;

/**
 * Any replica of a stream may answer, also one that was just restarted: it is asked again until its answer is as new as what this
 * process knows to be there.
 * @param least - the sequence that is waited for; for the error
 * @throws RollcallError BUS_UNREACHABLE after 3 s
 */
export async function notBehind<Answer>(
  least: number,
  read: () => Promise<Answer>,
  isNewEnough: (answer: Answer) => boolean,
): Promise<Answer> {
  const deadlineMs = performance.now() + behindForMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    const answer = await read();
    if (isNewEnough(answer)) return answer;
    if (performance.now() > deadlineMs)
      throw new RollcallError(
        'BUS_UNREACHABLE',
        `event ${least} cannot be read: the servers that answer are behind`,
      );
    await delay(pauseMs);
  }
}

/** The same for messages, one of which must be that or a later one; 0: nothing is known to be there. */
export function messagesUpTo<Message extends { readonly sequence: number }>(
  least: number,
  read: () => Promise<Message[]>,
): Promise<Message[]> {
  return notBehind(
    least,
    read,
    (messages) => least === 0 || messages.some(({ sequence }) => sequence >= least),
  );
}
