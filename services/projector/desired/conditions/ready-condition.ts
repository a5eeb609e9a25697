import { livenessOf, waitsAsNewcomer } from '@rollcall/shared/events';
import type { Judged } from '../condition-list.ts';
import { isKeyRevoked, registrationPhaseOf } from '../registration-phase.ts';
import { type ClusterProjection, timeOf } from './cluster-projection.ts';

const suspectMessages: ReadonlyMap<string, string> = new Map([
  ['ConnectionLost', 'the agent lost its connection'],
  ['NoHeartbeats', 'a heartbeat is overdue'],
  [
    'OutageHeld',
    'not heard for the whole grace, together with many others: most likely the network of the hub itself',
  ],
]);
export const memberIsDown = 'the agent sends heartbeats; its API server does not answer';
const heardButNotReady: ReadonlyMap<string, string> = new Map([
  ['MemberAPIDown', memberIsDown],
  [
    'Flapping',
    'it came and went too often; it is ready again once it has been heard without a gap for a while',
  ],
]);

/** The summary. Who is shut out is not ready, whatever its heartbeats say. */
export function readyCondition(projection: ClusterProjection): Judged {
  const type = 'Ready';
  const phase = registrationPhaseOf(projection.record);
  const decidedAtMs = timeOf(projection, 'approver');
  if (phase === 'denied') {
    return {
      type,
      status: 'False',
      reason: 'Denied',
      message: projection.record.decision?.message ?? '',
      atMs: decidedAtMs,
    };
  }
  if (phase === 'revoked' || phase === 'banned' || phase === 'leaving' || phase === 'left') {
    const message =
      phase === 'leaving' ? 'the cluster is leaving' : (projection.record.decision?.message ?? '');
    return { type, status: 'False', reason: 'Revoked', message, atMs: decidedAtMs };
  }
  // Another key asks meanwhile, and what was decided about the one that was in is no longer the last word.
  if (phase === 'undecided' && isKeyRevoked(projection.record))
    return { type, status: 'False', reason: 'Revoked', message: 'the key was taken back', atMs: decidedAtMs };
  if (waitsAsNewcomer(projection.record)) {
    const message = 'its request waits for a decision';
    return { type, status: 'Unknown', reason: 'Held', message, atMs: decidedAtMs };
  }
  const liveness = livenessOf(projection.record);
  if (!liveness) {
    return {
      type,
      status: 'Unknown',
      reason: 'NeverSeen',
      message: 'no heartbeat of this agent has come yet',
      atMs: decidedAtMs,
    };
  }
  const atMs = liveness.sinceMs;
  switch (liveness.state) {
    case 'ready': {
      const trouble = heardButNotReady.get(liveness.cause);
      return trouble === undefined
        ? { type, status: 'True', reason: 'Alive', message: 'heartbeats are coming', atMs }
        : { type, status: 'False', reason: liveness.cause, message: trouble, atMs };
    }
    case 'suspect': {
      const reason = suspectMessages.has(liveness.cause) ? liveness.cause : 'NoHeartbeats';
      return { type, status: 'Unknown', reason, message: suspectMessages.get(reason) ?? '', atMs };
    }
    case 'stopped':
      return { type, status: 'False', reason: 'AgentStopped', message: 'the agent said goodbye', atMs };
    case 'unreachable':
      return {
        type,
        status: 'False',
        reason: 'Unreachable',
        message: 'no heartbeat for the whole grace',
        atMs,
      };
  }
}
