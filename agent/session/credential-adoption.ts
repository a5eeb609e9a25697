import { toRollcallError } from '@rollcall/shared/errors';
import type { Reply, Admitted } from '@rollcall/shared/protocol/reply';
import type { Nkey } from '@rollcall/shared/trust/keys';
import type { Requester } from './requester.ts';
import { boundedInterval } from './heartbeater.ts';
import { isIssuedLater } from '../protocol/credential-choice.ts';
import type { Connector } from './connector.ts';
import type { FactsReport } from '../facts/facts-report.ts';
import type { HubAccess } from '../access/hub-access.ts';
import type { HubLink } from './hub-connection.ts';
import { isStale } from './joining.ts';
import type { MemberState } from '../keys/key-store.ts';
import type { LeaveFlow } from './leave-flow.ts';
import { answeredRefusal } from '../protocol/refusal.ts';
import { boundedReturn } from './return-time.ts';
import type { Session } from './session.ts';

export interface CredentialAdoptionOptions {
  readonly requester: Requester;
  readonly connector: Pick<Connector, 'dial'>;
  readonly factsReport: Pick<FactsReport, 'confirmed'>;
  readonly hubAccess: HubAccess | undefined;
  readonly leaveFlow: Pick<LeaveFlow, 'follow' | 'isTold'>;
  /** Makes a connection the one that counts; the one before ends once the new one sends heartbeats. */
  take(next: HubLink): Promise<void>;
}

/** Which key a reply is for, and whether it answers the last request. */
export interface HeardBy {
  readonly key: Nkey;
  readonly isToLast: boolean;
}

/** What the agent makes of where the hub says that a key of it stands. */
export interface CredentialAdoption {
  follow(reply: Reply, by: HeardBy): void;
  /** The hub has let that key in. */
  admit(admitted: Omit<Admitted, 'kind'>, atMs: number, key: Nkey): void;
  /** What is being adopted, until it is through. */
  settled(): Promise<void>;
}

const droppedLabelsText = (keys: readonly string[]) =>
  `the hub does not take ${keys.length === 1 ? 'the label' : 'the labels'} ${keys.join(', ')}: not allowed by the token (\`rollcall token create --allow-labels PATTERN\`), reserved, or no label`;

/** Shorter rests are spent connected. */
const shortRestMs = 15_000;

export function createCredentialAdoption(
  session: Session,
  options: CredentialAdoptionOptions,
): CredentialAdoption {
  const { stateStore, keys, clusterId, signal, logger } = session;
  const { requester, leaveFlow, hubAccess } = options;
  let adopting: Promise<void> = Promise.resolve();
  let toldDropped = false;

  const restMs = () => session.joining.requestAtMs - Date.now();
  const isOwn = (key: Nkey) => key.publicKey === keys.current().publicKey;

  function waitWith(credentials: string | undefined): void {
    // A member whose connection stands is one, whatever else is being decided about it.
    if (credentials === undefined || session.link?.role === 'member') return;
    if (!isIssuedLater(credentials, stateStore.state.waitingJwt)) return;
    stateStore.update((old) => ({ ...old, member: undefined, waitingJwt: credentials }));
  }

  /** Once: what waits is answered again and again, and so is who renews. */
  function tellDropped(droppedLabels: unknown): void {
    if (toldDropped || !Array.isArray(droppedLabels) || droppedLabels.length === 0) return;
    toldDropped = true;
    session.tell('register', droppedLabelsText(droppedLabels.map(String)), { clusterId });
  }

  function follow({ result, atMs }: Reply, { key, isToLast }: HeardBy): void {
    if (leaveFlow.follow(result, session.link?.role) || leaveFlow.isTold())
      return leaveFlow.isTold() ? void hubAccess?.stop() : undefined;
    const heard = { atHubMs: atMs, result, isToLast };
    if (isStale(session.joining, heard)) return;
    // What is said of a key that has given way, or has not taken over yet, is not said of the agent.
    if (!isOwn(key)) {
      if (result.kind === 'admitted') admit(result, atMs, key);
      return;
    }
    hubAccess?.learn({ result, atMs }, { isToLast });
    if (result.kind !== 'refused') options.factsReport.confirmed();
    session.step({ kind: 'answered', ...heard });
    switch (result.kind) {
      case 'waiting':
        waitWith(result.credentials);
        tellDropped(result.droppedLabels);
        session.tell('waiting', result.message, { reason: result.reason, clusterId });
        break;
      case 'refused': {
        session.tellRefusal('refused', answeredRefusal(result), restMs());
        // There is nothing to wait for over a connection of that kind; the next one is made when it is time to ask again.
        const role = session.link?.role;
        if ((role === 'token' || role === 'returning') && restMs() > shortRestMs) void session.link?.close();
        break;
      }
      case 'admitted':
        tellDropped(result.droppedLabels);
        admit(result, atMs, key);
        break;
      case 'leave':
      case 'access':
      case 'rotated':
      case 'done':
        break;
    }
    requester.whenDue();
  }

  function admit(result: Omit<Admitted, 'kind'>, atMs: number, key: Nkey): void {
    adopting = adopting.then(() => adopt(result, atMs, key));
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
    if (leaveFlow.isTold() || signal.aborted) return false;
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
    if (isRotated) session.joining = { ...session.joining, status: 'admitted', requestAtMs: Date.now() };
    const returnWithinMs = boundedReturn(result.returnWithinMs);
    const renewAtMs = session.joining.requestAtMs;
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
    if (session.memberLink()) {
      session.step({ kind: 'asked' });
      requester.whenDue();
    } else {
      // The loop connects with what was just kept.
      await session.link?.close();
    }
  }

  return { follow, admit, settled: () => adopting };
}
