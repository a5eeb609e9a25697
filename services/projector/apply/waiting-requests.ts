import type { ClusterRecord } from '@rollcall/shared/events';
import type { Metrics } from '@rollcall/shared/service';
import { currentDecision } from '../desired/registration-phase.ts';

const states = ['pending', 'held'] as const;
type State = (typeof states)[number];

interface Waiting {
  readonly state: State;
  readonly sinceMs: number;
}

/** Whether the cluster's newest request waits: for the approver, or for a person, a policy or the time. */
export function waitingOf(record: ClusterRecord): Waiting | undefined {
  const { identity } = record;
  if (!identity || identity.state === 'refused' || identity.state === 'left') return undefined;
  const verdict = currentDecision(record)?.verdict ?? 'predefined';
  const sinceMs = identity.request.requestedAtMs;
  if (verdict === 'held') return { state: 'held', sinceMs };
  // What a person laid down beforehand decides nothing about a request.
  return verdict === 'predefined' ? { state: 'pending', sinceMs } : undefined;
}

/** The requests that nobody has decided, as far as their clusters have been looked at; that is all of them after the start. */
export interface WaitingRequests {
  note(record: ClusterRecord): void;
  /** In seconds; 0 while nobody waits. */
  oldestAgeSeconds(nowMs: number, state?: State): number;
  count(): number;
  report(metrics: Metrics, nowMs: number): void;
}

export function createWaitingRequests(): WaitingRequests {
  const waiting = new Map<string, Waiting>();
  const inState = (state: State) => [...waiting.values()].filter((one) => one.state === state);

  function oldestAgeSeconds(nowMs: number, state?: State): number {
    let oldestMs = nowMs;
    for (const one of waiting.values()) {
      if (state === undefined || one.state === state) oldestMs = Math.min(oldestMs, one.sinceMs);
    }
    return (nowMs - oldestMs) / 1000;
  }

  return {
    note(record) {
      const now = waitingOf(record);
      if (now) waiting.set(record.aggregate.id, now);
      else waiting.delete(record.aggregate.id);
    },
    oldestAgeSeconds,
    count: () => waiting.size,
    report(metrics, nowMs) {
      for (const state of states) {
        metrics.gauge('rollcall_requests_waiting', inState(state).length, { state });
        metrics.gauge('rollcall_oldest_waiting_request_age_seconds', oldestAgeSeconds(nowMs, state), {
          state,
        });
      }
    },
  };
}
