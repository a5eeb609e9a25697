import type { NatsConnection } from '@nats-io/transport-node';
import { say } from '../terminal/output.ts';

const answersWithinMs = 2000;

/**
 * Whether a service says that its history is lost or cut (ADR 16). Each of them knows; the account-controller keeps what they know it by.
 * @returns false also where nobody answers: that is for `rollcall status` to say
 */
export async function isHistoryLost(nc: NatsConnection): Promise<boolean> {
  try {
    const answer = await nc.request('$SRV.STATS.account-controller', '', { timeout: answersWithinMs });
    const { data } = answer.json<{ data?: { historyLost?: unknown } }>();
    return data?.historyLost === 1;
  } catch {
    return false;
  }
}

/** For whoever shows the history: what is left of one that is lost looks like a whole one. */
export async function sayLost(nc: NatsConnection): Promise<void> {
  if (await isHistoryLost(nc))
    say(
      'warning: HISTORY_LOST: the history of this hub is lost or cut, and this is what is left of it; `rollcall status` says how to go on',
    );
}
