import type { Facts } from '@rollcall/shared/bus';
import type { MemberClaim } from '@rollcall/shared/protocol';
import type { Logger } from '@rollcall/shared/service';
import type { RegistrationToken } from '@rollcall/shared/trust/keys';
import { type RequesterOptions, createRequester, createSending } from './requester.ts';
import type { BackOff } from '../hub/back-off.ts';
import { boundedInterval, createHeartbeater } from './heartbeater.ts';
import { createConnector } from './connector.ts';
import { clockFact } from './measure-clock-skew.ts';
import { createFactsReport } from '../facts/facts-report.ts';
import { createReplyHandler, type ReplyHandlerOptions } from './reply-handler.ts';
import { createHubAccess, type HubAccessOptions } from '../access/hub-access.ts';
import type { HubAddress } from '../hub/hub-address.ts';
import type { HubLink } from './hub-connection.ts';
import type { HubNetwork } from '../hub/hub-network.ts';
import type { MemberFacts } from '../facts/member-facts.ts';
import type { KeyRing } from '../keys/own-keys.ts';
import type { OnPhase } from '../protocol/phase.ts';
import type { Uninstall } from '../install/uninstall-steps.ts';
import { boundedReturn } from './reconnect-delay.ts';
import { createRotation } from './rotation.ts';
import type { RotationRequest } from '../keys/rotation-request.ts';
import { isObeyingLeave } from './registration.ts';
import { stayConnected } from './stay-connected.ts';
import { runRegistration } from './run-registration.ts';
import { createSession } from './session.ts';
import { createCredentialAdoption } from './credential-adoption.ts';
import type { StateStore } from '../keys/state-store.ts';
import { createToldPlaces } from './adopt-hub-addresses.ts';
import { answerPeople, type MemberTunnelOptions } from '../tunnel/answer-people.ts';

export interface Admission {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly namespace: string;
}

/** How patient the agent is; each has a default in main.ts. */
export interface Patience {
  readonly reconnect: BackOff;
  readonly refusedRetryMs: number;
  readonly factsIntervalMs: number;
  /** How long kinds that the member does not have, or does not show us, are left alone. */
  readonly lookAgainMs: number;
  /** How often the agent looks whether a person beside it wants a new key. */
  readonly rotationRequestMs: number;
}

export interface MembershipOptions {
  readonly addresses: readonly HubAddress[];
  readonly network?: HubNetwork;
  /** Digest of how it was told to know its hub. */
  readonly trustDigest: string;
  /** The hub's CA: found by its pin, or given. Asked again after a connection showed another one. */
  hubCa(options: { again: boolean }): Promise<string>;
  readonly keys: KeyRing;
  readonly token: RegistrationToken | undefined;
  readonly stateStore: StateStore;
  readonly request: RequesterOptions['request'];
  /** Read when the agent starts, so that they are there when it may ask. */
  readonly firstFacts: Promise<Facts>;
  readonly facts: MemberFacts;
  memberAnswers(): Promise<boolean>;
  /** Told of each heartbeat that went out. */
  onHeartbeat?: (() => void) | undefined;
  /** Shows that the member vouches for a key of ours; undefined where it cannot. Never rejects. */
  memberProof(agentKey: string): Promise<MemberClaim | undefined>;
  /** Whether it shall leave; else it does when the hub says so. */
  readonly isLeaveWanted: boolean;
  /** Undefined where nothing of the agent is to be removed. */
  readonly uninstall: Uninstall | undefined;
  /** Where a kubeconfig for the hub is put, and what the hub seals it to; undefined: none is asked for. */
  readonly access?: Pick<HubAccessOptions, 'store' | 'sealingKey' | 'longestMs'> | undefined;
  /** As whom people of the hub get into the member; undefined: nobody does, and nothing listens for them. */
  readonly memberTunnel?: MemberTunnelOptions | undefined;
  /** Where a person beside the agent asks for a new key. */
  readonly rotationRequest?: Pick<RotationRequest, 'read'> | undefined;
  readonly patience: Patience;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Membership {
  readonly admitted: Promise<Admission>;
  /**
   * Connects, asks, sends heartbeats and renews until the signal, or until the cluster has left; never rejects.
   * @returns whether it has left
   */
  run(): Promise<boolean>;
  /** Gives the agent a new key, now or once it is a member again. */
  rotate(): void;
  /** To be called after the signal: says goodbye over the connection there is, and closes it. */
  leave(): Promise<void>;
}

export function createMembership(options: MembershipOptions): Membership {
  const { stateStore, keys, request, patience, onPhase, signal, logger } = options;
  const { clusterId } = request;
  const admitted = Promise.withResolvers<Admission>();
  const session = createSession({
    clusterId,
    keys,
    stateStore,
    token: options.token,
    trustDigest: options.trustDigest,
    refusedRetryMs: patience.refusedRetryMs,
    isLeaveWanted: options.isLeaveWanted,
    onPhase,
    logger,
    signal,
  });
  const sending = createSending(session);
  const connector = createConnector(session, options);
  const people =
    options.memberTunnel &&
    answerPeople(
      {
        clusterId,
        logger,
        ownLink: () => session.memberLink(),
        askHub: () => void options.firstFacts.then(() => factsReport.ask()),
        async dial() {
          const { member } = stateStore.state;
          return member && connector.dial({ role: 'member', jwt: member.jwt }, keys.current(), 'tunnel');
        },
      },
      options.memberTunnel,
    );

  /** It was a member before this run: perhaps all of its fleet start together, and none of them has news that is in a hurry. */
  const isReturning = stateStore.state.member !== undefined;
  let firstFacts: Promise<Facts> | undefined = options.firstFacts;
  const withClock = (facts: Facts): Facts => ({ ...facts, ...clockFact(sending.clockAheadMs()) });
  const readFacts = async () => {
    const first = firstFacts;
    firstFacts = undefined;
    return withClock(await (first ?? options.facts.read()));
  };
  const factsReport = createFactsReport({
    intervalMs: patience.factsIntervalMs,
    read: readFacts,
    latest: () => withClock(options.facts.latest()),
    send(facts) {
      const member = session.memberLink();
      return member && sending.send(member, { verb: 'facts', body: { clusterId, facts } });
    },
  });
  const heartbeater = createHeartbeater({
    clusterId,
    link: () => (session.link?.role === 'member' && !session.link.isClosed() ? session.link : undefined),
    memberAnswers: options.memberAnswers,
    // An agent that is not in its member says nothing of it while it does not reach it.
    heartbeatsFor: request.mode === 'Push' ? 'member' : 'agent',
    onHeartbeat: options.onHeartbeat,
    onMemberChange(isThere) {
      const message = isThere
        ? "the member's API server answers again"
        : "the member's API server does not answer";
      session.tell('member', message);
      void options.facts.read().then(() => factsReport.changed());
    },
  });
  options.facts.onChange(() => factsReport.changed());
  const hubAccess =
    options.access &&
    createHubAccess({
      clusterId,
      ...options.access,
      isKnown: isReturning,
      onPhase,
      logger,
      signal,
      send(content) {
        const member = session.memberLink();
        return member && !isObeyingLeave(session.registration) ? sending.send(member, content) : undefined;
      },
    });
  const requester = createRequester(session, sending, {
    request,
    readFacts,
    memberProof: options.memberProof,
    factsReport,
  });
  const rotation = createRotation(session, {
    sending,
    rotationRequest: options.rotationRequest,
    requestEveryMs: patience.rotationRequestMs,
  });
  /** The hub may change it at any time, and counts on it from then on: the next heartbeat comes at once. */
  const changeInterval: ReplyHandlerOptions['changeInterval'] = (said) => {
    const { member } = stateStore.state;
    if (!member || !session.memberLink()) return;
    const { heartbeatIntervalMs, returnWithinMs } = {
      heartbeatIntervalMs:
        said.heartbeatIntervalMs === undefined
          ? member.heartbeatIntervalMs
          : boundedInterval(said.heartbeatIntervalMs),
      returnWithinMs: boundedReturn(said.returnWithinMs) ?? member.returnWithinMs,
    };
    const isAsBefore = heartbeatIntervalMs === member.heartbeatIntervalMs;
    if (isAsBefore && returnWithinMs === member.returnWithinMs) return;
    stateStore.update((old) =>
      old.member ? { ...old, member: { ...old.member, heartbeatIntervalMs, returnWithinMs } } : old,
    );
    if (isAsBefore) return;
    logger.info(
      { clusterId, durationMs: heartbeatIntervalMs },
      'the hub has changed how often to send heartbeats',
    );
    heartbeater.start(heartbeatIntervalMs);
  };
  const hear = createReplyHandler(session, {
    sending,
    factsReport,
    hubAccess,
    toldPlaces: createToldPlaces(session, options),
    changeInterval,
    peopleMayEnter: people?.hubSaid,
    rotation: rotation.hear,
    rotationRequested: rotation.requested,
  });

  async function take(next: HubLink, awayMs = 0): Promise<void> {
    const before = session.link;
    const { key } = next;
    next.subscribe(`rollcall.reply.${key.publicKey}.>`, (data, subject) => hear({ data, subject, key }));
    const isFirst = before?.role !== 'member' || before.isClosed();
    if (next.role === 'member') people?.listen(next, { isFirst });
    session.link = next;
    session.dispatch({ kind: 'connected', role: next.role, awayMs });
    if (next.role === 'member') await beMember(next, before);
    await before?.close();
  }

  async function beMember(link: HubLink, before: HubLink | undefined): Promise<void> {
    const { member } = stateStore.state;
    if (!member) return;
    const { clusterName, namespace, heartbeatIntervalMs, returnWithinMs = 0 } = member;
    heartbeater.start(heartbeatIntervalMs);
    await link.flush().catch(() => undefined);
    // Stopped meanwhile: what is started from here on nobody would stop.
    if (signal.aborted) return;
    if (!link.isClosed() && before?.role !== 'member') {
      const message = `"${clusterName}" is a member; sending heartbeats every ${Number((heartbeatIntervalMs / 1000).toFixed(1))} s`;
      session.tell('ready', message, { clusterId, clusterName });
    }
    admitted.resolve({ clusterId, clusterName, namespace });
    factsReport.start(
      isReturning ? Math.random() * Math.max(patience.reconnect.longestMs, returnWithinMs) : 0,
    );
    hubAccess?.connected(returnWithinMs);
    rotation.connected();
  }

  const adoption = createCredentialAdoption(session, { connector, take });
  runRegistration(session, {
    requester,
    adoption,
    hubAccess,
    uninstall: options.uninstall,
  });

  return {
    admitted: admitted.promise,
    run: () => stayConnected(session, { reconnect: patience.reconnect, connector, adoption, take }),
    rotate: () => rotation.begin(),
    async leave() {
      requester.stop();
      rotation.stop();
      heartbeater.goodbye();
      heartbeater.stop();
      factsReport.stop();
      await people?.stop();
      await hubAccess?.stop();
      await adoption.settled();
      await session.link?.close();
    },
  };
}
