import type { Liveness } from '../types/heartbeat-events.ts';

/**
 * What the hub has said of a cluster so far; `neverSeen` until its first heartbeat after an admission. Heartbeats of a `memberDown` one
 * come, and say that the member's API server does not answer; those of a `flapping` one come and go too often to be believed.
 */
export type LivenessState =
  | 'neverSeen'
  | 'ready'
  | 'suspect'
  | 'unreachable'
  | 'stopped'
  | 'memberDown'
  | 'flapping';

/**
 * What a section says. The two states that are heard and still not ready stand there as causes of `ready`: an older version
 * knows no other states, and takes them for what they were to it.
 */
export function livenessStateOf(liveness: Pick<Liveness, 'state' | 'cause'> | undefined): LivenessState {
  if (!liveness) return 'neverSeen';
  if (liveness.state !== 'ready') return liveness.state;
  if (liveness.cause === 'MemberAPIDown') return 'memberDown';
  return liveness.cause === 'Flapping' ? 'flapping' : 'ready';
}
