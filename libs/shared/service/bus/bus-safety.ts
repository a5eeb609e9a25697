import { setTimeout as delay } from 'node:timers/promises';
import { errors, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';

/** Older servers have known ways to lose or to leak what we rely on (principle 12; facts: nats-server 2.15.2). */
export const minimumServerVersion = [2, 15, 2] as const;

/** Whether a server's version is new enough; pre-releases count as the release before them. */
export function isServerNewEnough(version: string): boolean {
  const found = /^(\d+)\.(\d+)\.(\d+)(-.+)?$/.exec(version);
  if (!found) return false;
  for (const [index, wanted] of minimumServerVersion.entries()) {
    const part = Number(found[index + 1]);
    if (part !== wanted) return part > wanted;
  }
  return found[4] === undefined;
}

const answerWithinMs = 5000;
const againInMs = 100;

interface JszAnswer {
  readonly data?: { readonly config?: { readonly sync_always?: boolean } };
}

/**
 * Checks that "acknowledged" means "kept" here (principle 12).
 * @throws RollcallError BUS_UNSAFE saying which of the two conditions fails, BUS_UNREACHABLE when nobody answers
 */
export async function checkBusSafety(nc: NatsConnection): Promise<void> {
  const version = nc.info?.version ?? 'unknown';
  if (!isServerNewEnough(version)) {
    throw new RollcallError(
      'BUS_UNSAFE',
      `nats-server "${version}" is older than ${minimumServerVersion.join('.')}`,
    );
  }
  const answer = await askForJetStream(nc).catch((cause: unknown) => {
    throw new RollcallError('BUS_UNREACHABLE', 'the NATS server did not say how its JetStream is set', {
      cause,
    });
  });
  const { data } = answer.json<JszAnswer>();
  if (data?.config?.sync_always !== true) {
    throw new RollcallError(
      'BUS_UNSAFE',
      'the NATS server acknowledges before it has written to disk (sync_interval is not "always")',
    );
  }
}

/** While the server replaces the claims of an account, as when a hub starts, nothing that the account imports is there for a moment. */
async function askForJetStream(nc: NatsConnection): Promise<Msg> {
  const until = AbortSignal.timeout(answerWithinMs);
  for (;;) {
    try {
      return await nc.request('rollcall.sys.jetstream', undefined, { timeout: answerWithinMs });
    } catch (error) {
      const isNobodyThere = error instanceof errors.RequestError && error.isNoResponders();
      if (!isNobodyThere || until.aborted) throw error;
      await delay(againInMs);
    }
  }
}
