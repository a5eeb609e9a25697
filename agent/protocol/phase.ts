import type { ErrorCode } from '@rollcall/shared/errors';

/**
 * How far the agent is, in the words that people see as `[phase] message`.
 * preflight: what it found out about its own cluster; connect: reaching the hub; register: asked to join; waiting: a person or
 * a policy must decide; approve: let in; ready: the first heartbeat is sent; refused: the hub said no, asked again later;
 * renew: fresh credentials; rotate: a new key takes the place of the agent's own; access: a kubeconfig for the hub comes, or goes; member: the member's API server comes or goes; leave: the cluster leaves the hub.
 */
export type PhaseName =
  | 'preflight'
  | 'connect'
  | 'register'
  | 'waiting'
  | 'approve'
  | 'ready'
  | 'refused'
  | 'renew'
  | 'rotate'
  | 'access'
  | 'member'
  | 'leave';

export interface PhaseDetail {
  /** A code of the catalogue, or of a newer hub's. */
  readonly code?: ErrorCode | (string & {});
  readonly hint?: string;
  readonly reason?: string;
  readonly clusterId?: string;
  readonly clusterName?: string;
  readonly keyFingerprint?: string;
  /** When the agent tries again by itself. */
  readonly retryInMs?: number;
}

export interface PhaseEvent {
  readonly phase: PhaseName;
  readonly message: string;
  readonly detail: PhaseDetail;
}

export type OnPhase = (event: PhaseEvent) => void;
