import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import { keyFingerprint, parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { fullJitterMs } from './hub/back-off.ts';
import { clusterNameOf, readClusterId } from './facts/cluster-identity.ts';
import type { HubAccessStore } from './access/hub-access-store.ts';
import { parseHubAddress } from './hub/hub-address.ts';
import type { HubNetwork } from './hub/hub-network.ts';
import { digestOfTrust, findHubCa, type HubTrust } from './hub/hub-trust.ts';
import { type AgentState, checkStateFits, type KeyStore } from './keys/key-store.ts';
import { createLogLines } from './log-lines.ts';
import { openMemberApi, type MemberApi } from './facts/member-api.ts';
import { type FactSettings, followMember } from './facts/member-facts.ts';
import { createMemberProof } from './facts/member-proof.ts';
import { type Admission, createMembership, type Membership, type Patience } from './session/membership.ts';
import { createKeyRing, newAgentState } from './keys/own-keys.ts';
import type { OnPhase } from './protocol/phase.ts';
import { remove, type Uninstall } from './install/uninstall.ts';
import type { RotationRequest } from './keys/rotation-request.ts';
import { createStateStore, type StateStore } from './keys/state-store.ts';

export { mergeCidrs } from './facts/cidr.ts';
export { clusterNameOf, readClusterId } from './facts/cluster-identity.ts';
export { directoryHubAccess, type HubAccessStore, secretHubAccess } from './access/hub-access-store.ts';
export { type HubAddress, formatHubAddress, parseHubAddress } from './hub/hub-address.ts';
export { connectionFailure, findHubCa, firstHubCa, type HubTrust, isTrustFailure } from './hub/hub-trust.ts';
export { type HubNetwork, parseHostAliases } from './hub/hub-network.ts';
export { parseProxy, proxyName } from './hub/proxy-choice.ts';
export { proxyFor, tryAddress } from './hub/secure-connection.ts';
export type { AgentState, KeyStore } from './keys/key-store.ts';
export { directoryKeyStore, forgetDirectory } from './keys/key-store-directory.ts';
export { installedInMember, uninstallFromMember } from './install/installed-objects.ts';
export { remove, type Uninstall } from './install/uninstall.ts';
export { showConditions } from './session/shown-conditions.ts';
export { secretKeyStore } from './keys/key-store-secret.ts';
export { createLogLines } from './log-lines.ts';
export type { FactSettings } from './facts/member-facts.ts';
export type { Admission, Patience } from './session/membership.ts';
export type { OnPhase, PhaseDetail, PhaseEvent, PhaseName } from './protocol/phase.ts';
export {
  directoryRotationRequest,
  type RotationRequest,
  secretRotationRequest,
} from './keys/rotation-request.ts';

export interface AgentOptions {
  /** `host:port` of one hub, any of which will do. */
  readonly hub: readonly string[];
  readonly trust: HubTrust;
  /** How the hub is reached from here. Default: by its addresses. */
  readonly network?: HubNetwork | undefined;
  /** Needed until the hub has let the agent in; forgotten then. */
  readonly token?: string | undefined;
  readonly member: KubeAccess;
  readonly store: KeyStore;
  /** Default: from the member's context, else from its id. */
  readonly clusterName?: string | undefined;
  /** Instead of the UID of kube-system. */
  readonly clientId?: string | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly clusterType?: 'Standard' | 'Edge';
  /** Push: it runs on the hub, so its heartbeats are those of the member, and there are none while that does not answer. Default: Pull. */
  readonly mode?: 'Pull' | 'Push';
  /** What is to be said of the member rather than what is found there. */
  readonly facts?: FactSettings;
  readonly version: string;
  /** Where a kubeconfig for the hub is put, where its policy grants one. Default: none is asked for. */
  readonly hubAccess?: HubAccessStore | undefined;
  /** However long access is good, it is renewed by then. Default: an hour, the longest that the hub gives. */
  readonly longestAccessMs?: number;
  /** How to remove what installed this agent, for when its cluster leaves. Default: nothing is removed. */
  readonly uninstall?: Uninstall | undefined;
  /** Where a person beside the agent asks for a new key (`rollcall agent rotate`). Default: nowhere. */
  readonly rotationRequest?: RotationRequest | undefined;
  /** Leave the hub, as soon as it hears of it. Default: stay until the hub says so. */
  readonly leave?: boolean;
  readonly onPhase?: OnPhase;
  /** Default: warnings and errors as JSON lines on stderr. */
  readonly logger?: Logger;
  readonly patience?: Partial<Patience>;
}

export interface RunningAgent {
  /** Resolves when the cluster has left the hub and what installed the agent is removed; there is nothing to run for then. */
  left(): Promise<void>;
  /** Resolves when the agent is a member and the server has its first heartbeat. Never rejects: the agent asks until it is stopped. */
  admitted(): Promise<Admission>;
  /** Gives the agent a new key, make-before-break; at once, or as soon as it is a member. */
  rotate(): void;
  /** Says goodbye, keeps its state and closes its connections. */
  stop(): Promise<void>;
}

/**
 * A second for a fleet that lost its server, ten once that lasts, unless its hub says that they are too many for that; people take minutes to change their minds (and the hub
 * names five); nodes come and go in minutes.
 */
const defaultPatience: Patience = {
  reconnect: { firstMs: 1000, longestMs: 10_000 },
  refusedRetryMs: 300_000,
  factsIntervalMs: 300_000,
  lookAgainMs: 30_000,
  rotationRequestMs: 10_000,
};
const defaultLongestAccessMs = 3_600_000;
/** A known agent checks whose keys it has, but does not wait long for a member that is down. */
const identityCheckMs = 2000;
/** A store that is away does not keep an agent from stopping: its credentials can be had again. */
const lastWriteMs = 2000;

/**
 * Runs an agent: makes or loads its keys, finds out which cluster this is, and keeps that cluster registered.
 * @returns once it runs, long before it is admitted
 * @throws RollcallError for what no waiting will help: TOKEN_INVALID, CONFIG_INVALID (an address), CLUSTER_NAME_INVALID,
 * AGENT_STATE_INVALID, AGENT_STATE_OTHER; and what the key store throws when it cannot be read
 */
export async function runAgent(options: AgentOptions): Promise<RunningAgent> {
  const { store, version, clientId } = options;
  const logger = options.logger ?? createLogLines('warn', (line) => process.stderr.write(line));
  const onPhase: OnPhase = options.onPhase ?? (() => undefined);
  const patience = { ...defaultPatience, ...options.patience };
  const addresses = options.hub.map(parseHubAddress);
  const { network = {} } = options;
  const token = options.token === undefined ? undefined : parseRegistrationToken(options.token);
  const stopping = new AbortController();
  const { signal } = stopping;
  const naming = { given: options.clusterName, contextCluster: contextClusterOf(options.member) };
  clusterNameOf({ ...naming, clusterId: 'not-known-yet' });

  // Everything that the first request needs is begun at once.
  const member = openMemberApi(options.member, version);
  const hubCa = findOnce(() => findHubCa(addresses, options.trust, network));
  const firstId = readClusterId(member, clientId);
  firstId.catch(() => undefined);
  let known: AgentState | undefined;
  try {
    known = await store.load();
    if (known === undefined && token === undefined) {
      throw new RollcallError('TOKEN_INVALID', `there is no token, and no key in ${store.place}`);
    }
    if (known) {
      checkStateFits(known, store.place, { hubId: token?.hubId });
      checkStateFits(known, store.place, { clusterId: await withinMs(firstId, identityCheckMs) });
    }
  } catch (error) {
    member.close();
    throw error;
  }
  if (known?.hubCaPem === undefined) hubCa({ again: false }).catch(() => undefined);
  const facts = followMember(member, {
    agentVersion: version,
    settings: options.facts ?? {},
    // Whoever may be hostile is listed anew each time, and that costs.
    lookAgainMs: options.member.caution ? patience.factsIntervalMs : patience.lookAgainMs,
    signal,
  });
  const firstFacts = facts.read();

  const admitted = Promise.withResolvers<Admission>();
  const left = Promise.withResolvers<void>();
  let membership: Membership | undefined;
  let stateStore: StateStore | undefined;
  let isRotationWanted = false;

  async function live(): Promise<void> {
    const clusterId = known?.clusterId ?? (await untilKnown(firstId, member));
    const clusterName = clusterNameOf({ ...naming, clusterId });
    // A CA that was given is kept with the keys, in one write; one that has to be found by its pin comes later.
    const trustDigest = digestOfTrust(options.trust);
    const trusted = 'caPem' in options.trust ? { hubCaPem: options.trust.caPem, hubCaOf: trustDigest } : {};
    const state = known ?? { ...newAgentState({ clusterId, hubId: token?.hubId ?? '' }), ...trusted };
    const keeping = createStateStore(store, { state, isKept: known !== undefined, logger, signal });
    stateStore = keeping;
    const keys = createKeyRing(() => keeping.state, store.place);
    const memberProof = createMemberProof(member, state.hubId);
    // A new agent shows it with its first request, which should not wait for it.
    if (state.member === undefined) void memberProof(keys.current().publicKey);
    stateStore.kept().catch(() => undefined);
    onPhase({
      phase: 'preflight',
      message: `cluster "${clusterName}" (${clusterId})`,
      detail: { clusterId, clusterName, keyFingerprint: keyFingerprint(keys.current().publicKey) },
    });
    membership = createMembership({
      addresses,
      network,
      hubCa,
      trustDigest,
      keys,
      token,
      stateStore,
      request: {
        clusterId,
        ...(clientId === undefined ? {} : { clientId }),
        clusterName,
        labels: { ...options.labels },
        clusterType: options.clusterType ?? 'Standard',
        mode: options.mode ?? 'Pull',
      },
      firstFacts,
      facts,
      memberProof,
      memberAnswers: async () => (await member.get('/readyz', 5000)).status < 500,
      isLeaveWanted: options.leave ?? false,
      uninstall: options.uninstall,
      access: options.hubAccess && {
        store: options.hubAccess,
        sealingKey: keys.sealing,
        longestMs: options.longestAccessMs ?? defaultLongestAccessMs,
      },
      rotationRequest: options.rotationRequest,
      patience,
      onPhase,
      logger,
      signal,
    });
    if (isRotationWanted) membership.rotate();
    membership.admitted.then(admitted.resolve, admitted.reject);
    if (await membership.run()) await goAway(membership);
  }

  /** Last of all the keys: until then a crash is followed by another try. */
  async function goAway(over: Membership): Promise<void> {
    await over.leave();
    await withinMs(stateStore?.kept() ?? Promise.resolve(), lastWriteMs);
    if (options.uninstall) await remove(options.uninstall, 'afterGoodbye', { logger, signal });
    onPhase({ phase: 'leave', message: 'the cluster has left the hub; the agent ends', detail: {} });
    left.resolve();
  }

  async function untilKnown(first: Promise<string>, api: MemberApi): Promise<string> {
    let next = first;
    for (let failures = 1; ; failures++) {
      try {
        return await next;
      } catch (thrown) {
        const error = toRollcallError(thrown);
        const retryInMs = fullJitterMs(patience.reconnect, failures, Math.random());
        onPhase({
          phase: 'preflight',
          message: error.message,
          detail: { code: error.code, hint: error.hint, retryInMs },
        });
        await delay(retryInMs, undefined, { signal });
        next = readClusterId(api, clientId);
      }
    }
  }

  const running = live().catch((error: unknown) => {
    if (!signal.aborted) logger.error({ err: toRollcallError(error) }, 'the agent ended');
  });
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    stopping.abort();
    await membership?.leave();
    await running;
    await withinMs(stateStore?.kept() ?? Promise.resolve(), lastWriteMs);
    member.close();
  }
  return {
    admitted: () => admitted.promise,
    left: () => left.promise,
    rotate() {
      if (membership) membership.rotate();
      else isRotationWanted = true;
    },
    stop: () => (stopped ??= stop()),
  };
}

/** The cluster of the kubeconfig's context; in a pod there is none. */
function contextClusterOf(member: KubeAccess): string | undefined {
  return member.contextName === 'in-cluster' ? undefined : member.clusterName;
}

/** Keeps the first result until it is asked for again; a failure is not kept. */
function findOnce(find: () => Promise<string>): (options: { again: boolean }) => Promise<string> {
  let found: Promise<string> | undefined;
  return ({ again }) => {
    if (again || found === undefined) {
      const search = find();
      search.catch(() => {
        if (found === search) found = undefined;
      });
      found = search;
    }
    return found;
  };
}

/** The result if it comes in time, else undefined: also when it fails. */
async function withinMs<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const timer = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([work.catch(() => undefined), late]);
  } finally {
    timer.abort();
  }
}
