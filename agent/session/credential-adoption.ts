import { toRollcallError } from '@rollcall/shared/errors';
import type { Admitted } from '@rollcall/shared/protocol/reply';
import type { Nkey } from '@rollcall/shared/trust/keys';
import { boundedInterval } from './heartbeater.ts';
import { isIssuedLater } from '../protocol/credential-choice.ts';
import type { Connector } from './connector.ts';
import type { HubLink } from './hub-connection.ts';
import type { MemberState } from '../keys/key-store.ts';
import { isObeyingLeave } from './registration.ts';
import { boundedReturn } from './reconnect-delay.ts';
import type { Session } from './session.ts';

export interface CredentialAdoptionOptions {
  readonly connector: Pick<Connector, 'dial'>;
  /** Makes a connection the one that counts; the one before ends once the new one sends heartbeats. */
  take(next: HubLink): Promise<void>;
}

/** Moves the agent to credentials that the hub has issued, one admission after the other. */
export interface CredentialAdoption {
  /** The hub has let that key in. */
  admit(admitted: Omit<Admitted, 'kind'>, atMs: number, key: Nkey): void;
  /** What is being adopted, until it is through; rejects where the last one failed. */
  settled(): Promise<void>;
}

export function createCredentialAdoption(
  session: Session,
  options: CredentialAdoptionOptions,
): CredentialAdoption {
  const { stateStore, keys, clusterId, signal, logger } = session;
  let adopting: Promise<void> = Promise.resolve();

  const isOwn = (key: Nkey) => key.publicKey === keys.current().publicKey;

  function admit(result: Omit<Admitted, 'kind'>, atMs: number, key: Nkey): void {
    // One that failed keeps no later one from being adopted.
    adopting = adopting.catch(() => undefined).then(() => adopt(result, atMs, key));
    // Mostly nobody waits for it: what came is asked for again when it is time to renew.
    adopting.catch((error: unknown) =>
      logger.warn({ err: toRollcallError(error) }, 'the new credentials could not be taken'),
    );
  }

  /** From here on the next key is the agent's own. It renews soon: with that the hub hears that it needs the old one no more. */
  function takeOver(member: MemberState): void {
    stateStore.update(({ next, ...old }) => {
      if (!next) return old;
      const { rotationRequest, ...seeds } = next;
      // The hub asks too: what was asked for beside the agent stays carried out.
      const rotatedBy = rotationRequest ?? old.rotatedBy;
      return { ...old, ...seeds, member, waitingJwt: undefined, rotatedBy };
    });
  }

  function isNews(jwt: string, key: Nkey): boolean {
    if (isObeyingLeave(session.registration) || signal.aborted) return false;
    if (!isOwn(key)) return key.publicKey === keys.next()?.publicKey;
    const known = stateStore.state.member?.jwt;
    const isUsed = known === jwt && session.link?.role === 'member';
    return !isUsed && (known === jwt || isIssuedLater(jwt, known));
  }

  async function dialWith(jwt: string, key: Nkey): Promise<HubLink | undefined> {
    try {
      return await options.connector.dial({ role: 'member', jwt }, key);
    } catch (error) {
      logger.warn({ err: toRollcallError(error) }, 'no connection with the new credentials yet');
      return undefined;
    }
  }

  /** Make before break: the connection with the new credentials stands and sends heartbeats before the old one ends. */
  async function adopt(result: Omit<Admitted, 'kind'>, atMs: number, key: Nkey): Promise<void> {
    const { credentials: jwt, clusterName, namespace } = result;
    if (!isNews(jwt, key)) return;
    const heartbeatIntervalMs = boundedInterval(result.heartbeatIntervalMs);
    const isRotated = !isOwn(key);
    // Said, and not so: the key of before is the one that is in.
    const first = isRotated ? await dialWith(jwt, key) : undefined;
    if (isRotated && !first) return;
    if (isRotated) session.dispatch({ kind: 'taken-over' });
    const returnWithinMs = boundedReturn(result.returnWithinMs);
    const renewAtMs = session.registration.joining.requestAtMs;
    const { workedJwt } = stateStore.state.member ?? {};
    const member = { jwt, workedJwt, clusterName, namespace, heartbeatIntervalMs, returnWithinMs, renewAtMs };
    if (isRotated) takeOver({ ...member, workedJwt: jwt });
    else stateStore.update((old) => ({ ...old, waitingJwt: undefined, member }));
    session.token = undefined;
    if (isRotated) session.tell('rotate', 'the hub has let the new key in');
    else if (session.link?.role === 'member') session.tell('renew', 'fresh credentials');
    else session.tell('approve', `admitted as "${clusterName}"`, { clusterId, clusterName });
    logger.debug({ clusterId, delayMs: Date.now() - atMs }, 'credentials received');
    const next = first ?? (await dialWith(jwt, key));
    if (next && !signal.aborted) return await options.take(next);
    await next?.close();
    if (session.memberLink()) session.dispatch({ kind: 'asked' });
    // The loop connects with what was just kept.
    else await session.link?.close();
  }

  return { admit, settled: () => adopting };
}
