import {
  type ClusterRecord,
  draft,
  type EventDraft,
  flapping,
  joined,
  type Liveness,
  type LivenessState,
  livenessStateOf,
  memberDown,
  ready,
  stopped,
  suspect,
  unreachable,
} from '@rollcall/shared/events';
import type { LivenessCause } from '../engine/judge-liveness.ts';
import { type JudgedChange, withFlapping } from './flapping.ts';
import { membershipOf } from './membership.ts';

/** What this replica heard, in hub time. */
export interface LivenessFinding extends JudgedChange {
  /** -Infinity: none since it was admitted. */
  readonly lastHeartbeatAtMs: number;
}

const definitionOf = { ready, suspect, unreachable, stopped, memberDown, flapping } as const;

/** The state that an event of ours leaves a cluster in, by its type. */
export const stateAfter: Readonly<Record<string, LivenessState>> = {
  joined: 'ready',
  ...Object.fromEntries(
    Object.entries(definitionOf).map(([state, { type }]) => [type, state as LivenessState]),
  ),
};

const messageOf: Readonly<Record<LivenessCause, (quietMs: number) => string>> = {
  Alive: () => 'heartbeats are heard',
  ConnectionLost: () => 'the last connection of the agent ended and did not come back',
  NoHeartbeats: (quietMs) => `no heartbeat for ${Math.round(quietMs / 1000)} s`,
  OutageHeld: (quietMs) =>
    `no heartbeat for ${Math.round(quietMs / 1000)} s, together with many others: most likely the network of the hub`,
  Unreachable: (quietMs) => `no heartbeat for ${Math.round(quietMs / 1000)} s, the whole grace`,
  AgentStopped: () => 'the agent said goodbye',
  MemberAPIDown: () => "the agent sends heartbeats; its member's API server does not answer",
  Flapping: () => 'heartbeats are back, and were too often before',
};

/**
 * What is written of a finding: one event if it changes the liveness section, else nothing, so that of two replicas the
 * second writes nothing. The first heartbeat after an admission is `joined`, which also means ready; the heartbeat that brings a cluster
 * back too often is `flapping`.
 */
export function decideLiveness(record: ClusterRecord, finding: LivenessFinding): EventDraft[] {
  const member = membershipOf(record);
  if (!member) return [];
  const { from, nowMs } = finding;
  const before = member.liveness;
  if (livenessStateOf(before) !== from || from === finding.state) return [];
  if (!before && (finding.state !== 'ready' || !member.mayJoin)) return [];
  const { state, cause, losses } = withFlapping(before, finding);
  // A replica that has not heard it since goes by the heartbeat that another one wrote.
  const lastHeartbeatAtMs =
    finding.lastHeartbeatAtMs === -Infinity
      ? (before?.lastHeartbeatAtMs ?? nowMs)
      : finding.lastHeartbeatAtMs;
  const { lossesAtMs: _before, ...others } = before ?? {};
  const section: Liveness = {
    // A newer version may have added fields of its own.
    ...others,
    state: state === 'memberDown' || state === 'flapping' ? 'ready' : state,
    cause,
    key: member.key,
    // The registrar's clock may be ahead; a joining before the admission would count for an earlier one.
    joinedAtMs: before?.joinedAtMs ?? Math.max(nowMs, member.admittedAtMs),
    sinceMs: nowMs,
    lastHeartbeatAtMs,
    ...(losses.length > 0 ? { lossesAtMs: [...losses] } : {}),
  };
  return [
    draft(before ? definitionOf[state] : joined, record, {
      by: { service: 'heartbeat' },
      reason: cause,
      message: before ? messageOf[cause](nowMs - lastHeartbeatAtMs) : 'the first heartbeat was heard',
      section,
    }),
  ];
}
