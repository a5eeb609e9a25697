import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import type { HubAccessStore } from './access/hub-access-store.ts';
import type { FactSettings } from './facts/member-facts.ts';
import type { HubNetwork } from './hub/hub-network.ts';
import type { HubTrust } from './hub/hub-trust.ts';
import type { Uninstall } from './install/uninstall-steps.ts';
import type { KeyStore } from './keys/key-store.ts';
import type { RotationRequest } from './keys/rotation-request.ts';
import type { OnPhase } from './protocol/phase.ts';
import type { MemberAccess } from './tunnel/impersonation.ts';
import type { Admission, Patience } from './session/membership.ts';

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
  /** As whom people of the hub get into the member through this agent. Default: nobody gets in. */
  readonly memberAccess?: MemberAccess | undefined;
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
export const defaultPatience: Patience = {
  reconnect: { firstMs: 1000, longestMs: 10_000 },
  refusedRetryMs: 300_000,
  factsIntervalMs: 300_000,
  lookAgainMs: 30_000,
  rotationRequestMs: 10_000,
};
export const defaultLongestAccessMs = 3_600_000;
