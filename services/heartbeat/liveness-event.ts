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
import { membershipOf } from './membership.ts';

/** What this replica heard, in hub time. */
export interface LivenessFinding {
  readonly state: Liveness['state'];
  readonly cause: string;
  readonly nowMs: number;
  readonly lastBeatAtMs: number;
}

const definitionOf = { ready, suspect, unreachable, stopped } as const;

/** From which states a finding leads on; another replica may have been faster, or have seen more. */
const mayFollow: Readonly<Record<Liveness['state'], readonly Liveness['state'][]>> = {
  ready: ['suspect', 'unreachable', 'stopped'],
  suspect: ['ready'],
  unreachable: ['ready', 'suspect'],
  stopped: ['ready', 'suspect', 'unreachable'],
};

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
  const { state, cause, nowMs, lastBeatAtMs } = finding;
  const before = member.liveness;
  const joins = !before && state === 'ready' && member.mayJoin;
  if (!joins && (!before || !mayFollow[state].includes(before.state))) return [];
  const section: Liveness = {
    // A newer version may have added fields of its own.
    ...before,
    state,
    cause,
    key: member.key,
    joinedAtMs: before?.joinedAtMs ?? nowMs,
    sinceMs: nowMs,
    lastBeatAtMs,
  };
  const message = messageOf[cause]?.(nowMs - lastBeatAtMs) ?? cause;
  return [
    draft(joins ? joined : definitionOf[state], record, {
      by: { service: 'heartbeat' },
      reason: cause,
      message: joins ? 'the first beat was heard' : message,
      section,
    }),
  ];
}
