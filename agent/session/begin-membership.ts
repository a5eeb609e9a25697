import { keyFingerprint } from '@rollcall/shared/trust/keys';
import { type AgentOptions, defaultLongestAccessMs } from '../config.ts';
import { clusterNameOf, readClusterId, untilClusterId } from '../facts/cluster-identity.ts';
import type { MemberApi } from '../facts/member-api.ts';
import { createMemberProof } from '../facts/member-proof.ts';
import { digestOfTrust } from '../hub/hub-trust.ts';
import type { AgentState } from '../keys/key-store.ts';
import { createKeyRing, newAgentState } from '../keys/own-keys.ts';
import { createStateStore, type StateStore } from '../keys/state-store.ts';
import { createMembership, type Membership, type MembershipOptions } from './membership.ts';

/** What was begun before it is known which cluster this is. */
export interface Prepared extends Pick<
  MembershipOptions,
  | 'addresses'
  | 'network'
  | 'hubCa'
  | 'token'
  | 'firstFacts'
  | 'facts'
  | 'patience'
  | 'onPhase'
  | 'logger'
  | 'signal'
> {
  readonly member: MemberApi;
  readonly firstId: Promise<string>;
  readonly naming: Omit<Parameters<typeof clusterNameOf>[0], 'clusterId'>;
  /** What an earlier run kept. */
  readonly known: AgentState | undefined;
}

/** A new agent's state. A CA that was given is kept with the keys, in one write; one that has to be found by its pin comes later. */
function newState({ trust }: AgentOptions, owner: { clusterId: string; hubId: string }): AgentState {
  const trusted = 'caPem' in trust ? { hubCaPem: trust.caPem, hubCaOf: digestOfTrust(trust) } : {};
  return { ...newAgentState(owner), ...trusted };
}

/** Waits until it is known which cluster this is, and gives that cluster its keys and its membership, which does not run yet. */
export async function beginMembership(
  options: AgentOptions,
  prepared: Prepared,
): Promise<{ membership: Membership; stateStore: StateStore }> {
  const { store, clientId } = options;
  const { member, firstId, naming, known, ...rest } = prepared;
  const { token, patience, onPhase, logger, signal } = rest;
  const readAgain = () => readClusterId(member, clientId);
  const waiting = { backOff: patience.reconnect, onPhase, signal };
  const clusterId = known?.clusterId ?? (await untilClusterId(firstId, readAgain, waiting));
  const clusterName = clusterNameOf({ ...naming, clusterId });
  const state = known ?? newState(options, { clusterId, hubId: token?.hubId ?? '' });
  const stateStore = createStateStore(store, { state, isKept: known !== undefined, logger, signal });
  const keys = createKeyRing(() => stateStore.state, store.place);
  const memberProof = createMemberProof(member, state.hubId);
  // A new agent shows it with its first request, which should not wait for it.
  if (state.member === undefined) void memberProof(keys.current().publicKey);
  stateStore.kept().catch(() => undefined);
  onPhase({
    phase: 'preflight',
    message: `cluster "${clusterName}" (${clusterId})`,
    detail: { clusterId, clusterName, keyFingerprint: keyFingerprint(keys.current().publicKey) },
  });
  const membership = createMembership({
    ...rest,
    trustDigest: digestOfTrust(options.trust),
    keys,
    stateStore,
    request: {
      clusterId,
      ...(clientId === undefined ? {} : { clientId }),
      clusterName,
      labels: { ...options.labels },
      clusterType: options.clusterType ?? 'Standard',
      mode: options.mode ?? 'Pull',
    },
    memberProof,
    memberAnswers: async () => (await member.get('/readyz', 5000)).status < 500,
    isLeaveWanted: options.leave ?? false,
    uninstall: options.uninstall,
    access: options.hubAccess && {
      store: options.hubAccess,
      sealingKey: keys.sealing,
      longestMs: options.longestAccessMs ?? defaultLongestAccessMs,
    },
    memberTunnel: options.memberAccess && {
      access: options.memberAccess,
      member: options.member,
      version: options.version,
    },
    rotationRequest: options.rotationRequest,
  });
  return { membership, stateStore };
}
