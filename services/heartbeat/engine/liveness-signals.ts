import type { LivenessState } from '@rollcall/shared/events';
import type { LivenessVerdict } from './judge-liveness.ts';
import type { OutageChange } from '../outage/outage-watch.ts';

/** What is written when a cluster changes. */
export type Becomes = Extract<LivenessVerdict, { kind: 'becomes' }>;

/** A transition that should be written; whether it is, the cluster's record decides. */
export interface ProposedTransition {
  readonly clusterId: string;
  /** Of this proposal; the answer counts for no other one about the cluster. */
  readonly number: number;
  readonly from: LivenessState;
  readonly state: Becomes['state'];
  readonly cause: Becomes['cause'];
  readonly decidedAtMs: number;
  readonly lastHeartbeatMs: number;
}

/** What the hub has said of a member. */
export interface KnownCluster {
  readonly clusterId: string;
  readonly key: string;
  readonly intervalMs: number;
  readonly graceMs: number;
  readonly state: LivenessState;
  /** When it got into that state, by the clock of whoever wrote it; of `neverSeen`, when it was admitted. */
  readonly sinceMs: number;
  readonly lastHeartbeatMs: number;
  readonly clusterSet?: string | undefined;
  /** Two agents use its key. */
  readonly keyShared?: boolean;
}

/** A connection of a member began or ended, as the NATS server says. */
export interface MemberConnection {
  readonly clusterId: string;
  readonly key: string;
  readonly serverId: string;
  /** As people know it. */
  readonly serverName: string;
  readonly clientId: number;
}

/** Who sends far more than any agent, since it was asked last. */
export interface HeardFlood {
  readonly clusterId: string;
  readonly heartbeats: number;
  /** Open at once, where they are what there is too much of. */
  readonly connections?: number | undefined;
}

/** What the engine says beside its proposals. */
export interface EngineOutput {
  /** For whoever watches; not kept. */
  live(clusterId: string, state: 'connection-lost' | 'ready', reason: string): void;
  outage(change: OutageChange): void;
  /** Two agents use the key of a cluster, or one alone again; said again until the record says so. */
  keyUse(clusterId: string, change: 'shared' | 'single'): void;
}
