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
import { type FlapSettings, lossesAfter } from './recent-losses.ts';
import { isHeard, type LivenessCause } from '../engine/judge-liveness.ts';
import { membershipOf } from './membership.ts';

type Stored = Exclude<LivenessState, 'neverSeen'>;

/** What this replica heard, in hub time. */
export interface LivenessFinding {
  /** The state it was judged from. A record that says another has moved on, and the finding is an old one. */
  readonly from: LivenessState;
  readonly state: Stored;
  readonly cause: LivenessCause;
  readonly nowMs: number;
  /** -Infinity: none since it was admitted. */
  readonly lastHeartbeatAtMs: number;
  readonly flap: FlapSettings;
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

const comesBackFrom = new Set<LivenessState>(['suspect', 'unreachable', 'memberDown', 'stopped']);

/** A finding of this replica, and what the losses before make of it. */
function withFlapping(
  before: Liveness | undefined,
  finding: LivenessFinding,
): { state: Stored; cause: LivenessCause; losses: readonly number[] } {
  const { from, state, cause, flap } = finding;
  const isLoss =
    (state === 'suspect' && cause !== 'OutageHeld') ||
    (state === 'memberDown' && from === 'ready') ||
    (state === 'stopped' && isHeard(from) && from !== 'flapping');
  const losses = lossesAfter(before, isLoss, finding);
  const isBack = (state === 'ready' || state === 'memberDown') && comesBackFrom.has(from);
  if (isBack && losses.length >= flap.losses) return { state: 'flapping', cause: 'Flapping', losses };
  // It has been steady for long enough: a new count begins.
  return { state, cause, losses: from === 'flapping' && state === 'ready' ? [] : losses };
}

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
