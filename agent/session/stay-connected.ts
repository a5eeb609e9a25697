import { setTimeout as delay } from 'node:timers/promises';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type BackOff, refusedDelayMs } from '../hub/back-off.ts';
import { nobodyListened } from '../hub/hub-trust.ts';
import { errorAsRefusal, refusedConnection } from '../protocol/refusal-for-people.ts';
import type { Connector } from './connector.ts';
import type { CredentialAdoption } from './credential-adoption.ts';
import type { HubLink } from './hub-connection.ts';
import { createReconnectAttempts } from './reconnect-attempts.ts';
import type { Session } from './session.ts';

/** A connection that ended sooner counts as a failure, so that one which is cut at once is not made again at once. */
const steadyAfterMs = 10_000;
const goodbyeRetryMs = 100;
/** In longest rests after a refusal: one that seems longer shows that our clock was set back. */
const mostOfRest = 2;

/**
 * Connects, and again whenever the connection is lost, until the signal or until the cluster has left; never rejects.
 * @returns whether it has left
 */
export async function stayConnected(
  session: Session,
  options: {
    readonly reconnect: BackOff;
    readonly connector: Pick<Connector, 'best'>;
    readonly adoption: Pick<CredentialAdoption, 'settled'>;
    /** Makes a connection the one that counts. */
    take(next: HubLink, awayMs: number): Promise<void>;
  },
): Promise<boolean> {
  const { refusedRetryMs, signal } = session;
  const { connector, adoption } = options;
  const rest = createReconnectAttempts(session, options.reconnect);
  const hasLeft = () => session.registration.leaving === 'left';

  async function untilGone(): Promise<void> {
    for (let current = session.link; current !== undefined;) {
      await current.closed;
      await adoption.settled();
      if (current === session.link) return;
      current = session.link;
    }
  }

  function failed(error: RollcallError, failures: number): number {
    // What no waiting helps is not asked for every few seconds; a proxy might lock the account that it is asked with.
    const waitMs = !error.retry
      ? refusedDelayMs(refusedRetryMs, failures, Math.random())
      : rest.afterFailureMs(failures, nobodyListened(error));
    session.tellRefusal('connect', errorAsRefusal(error), waitMs);
    return waitMs;
  }

  /**
   * Whoever stops does not wait for a hub that does not reply.
   * @returns undefined after the signal
   */
  async function dialBest(): Promise<Awaited<ReturnType<typeof connector.best>> | undefined> {
    const attempt = connector.best();
    const stopped = Promise.withResolvers<undefined>();
    const stop = () => stopped.resolve(undefined);
    signal.addEventListener('abort', stop);
    try {
      const first = await Promise.race([attempt, stopped.promise]);
      if (first === undefined || signal.aborted)
        void attempt.then(({ link }) => link?.close()).catch(() => undefined);
      return signal.aborted ? undefined : first;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  let failures = 0;
  let refusals = 0;
  let goneAtMs: number | undefined;
  while (!signal.aborted && !hasLeft()) {
    let waitMs: number;
    try {
      const outcome = await dialBest();
      if (outcome === undefined) break;
      const { link: dialed, shown } = outcome;
      if (dialed === undefined) {
        waitMs = rest.afterRefusalMs(++refusals);
        session.tellRefusal('refused', refusedConnection(shown), waitMs);
      } else {
        refusals = 0;
        const connectedAtMs = Date.now();
        session.tell('connect', `connected to the hub with its ${dialed.role} credentials`);
        await options.take(dialed, goneAtMs === undefined ? 0 : connectedAtMs - goneAtMs);
        await untilGone();
        goneAtMs = Date.now();
        failures = Date.now() - connectedAtMs < steadyAfterMs ? failures + 1 : 1;
        const { registration, link } = session;
        const { joining } = registration;
        const isResting = joining.status === 'refused' && link?.role !== 'member';
        const restMs = isResting
          ? Math.min(joining.requestAtMs - Date.now(), mostOfRest * refusedRetryMs)
          : 0;
        waitMs = Math.max(restMs, rest.afterLossMs(failures, link?.wasDismissed() ?? false));
      }
    } catch (thrown) {
      failures++;
      waitMs = failed(toRollcallError(thrown), failures);
    }
    if (hasLeft()) break;
    // The hub has just cut its key, and waits for its goodbye.
    if (session.registration.leaving !== 'staying') waitMs = Math.min(waitMs, goodbyeRetryMs * failures);
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
  return hasLeft();
}
