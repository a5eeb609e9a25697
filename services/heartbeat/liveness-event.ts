import {
  type ClusterRecord,
  draft,
  type EventDraft,
  joined,
  type Liveness,
  ready,
  stopped,
  suspect,
  unreachable,
} from '@rollcall/shared/events';
import type { LivenessState } from './liveness-transition.ts';
import { membershipOf } from './membership.ts';

/** What this replica heard, in hub time. */
export interface LivenessFinding {
  /** The state it was judged from. A record that says another has moved on, and the finding is an old one. */
  readonly from: LivenessState;
  readonly state: Liveness['state'];
  readonly cause: string;
  readonly nowMs: number;
  readonly lastBeatAtMs: number;
}

const definitionOf = { ready, suspect, unreachable, stopped } as const;

const messageOf: Readonly<Record<string, (quietMs: number) => string>> = {
  Alive: () => 'beats are heard',
  ConnectionLost: () => 'the last connection of the agent ended and did not come back',
  NoBeats: (quietMs) => `no beat for ${Math.round(quietMs / 1000)} s`,
  Unreachable: (quietMs) => `no beat for ${Math.round(quietMs / 1000)} s, the whole grace`,
  AgentStopped: () => 'the agent said goodbye',
};

/**
 * What is written of a finding: one event if it changes the liveness section, else nothing, so that of two replicas the
 * second writes nothing. The first beat after an admission is `joined`, which also means ready.
 */
export function decideLiveness(record: ClusterRecord, finding: LivenessFinding): EventDraft[] {
  const member = membershipOf(record);
  if (!member) return [];
  const { from, state, cause, nowMs, lastBeatAtMs } = finding;
  const before = member.liveness;
  if ((before?.state ?? 'neverSeen') !== from || from === state) return [];
  if (!before && (state !== 'ready' || !member.mayJoin)) return [];
  const section: Liveness = {
    // A newer version may have added fields of its own.
    ...before,
    state,
    cause,
    key: member.key,
    // The registrar's clock may be ahead; a joining before the admission would count for an earlier one.
    joinedAtMs: before?.joinedAtMs ?? Math.max(nowMs, member.admittedAtMs),
    sinceMs: nowMs,
    lastBeatAtMs,
  };
  const message = messageOf[cause]?.(nowMs - lastBeatAtMs) ?? cause;
  return [
    draft(before ? definitionOf[state] : joined, record, {
      by: { service: 'heartbeat' },
      reason: cause,
      message: before ? message : 'the first beat was heard',
      section,
    }),
  ];
}
