import type { Liveness } from './types/heartbeat-events.ts';
import type { Identity } from './types/registrar-events.ts';

/**
 * What the heartbeat service says of a member as it is admitted now; undefined for what it said of an earlier key or an earlier
 * life: after a new admission it writes `joined` anew, also for a key that was in before.
 */
export function livenessOf({
  identity,
  liveness,
}: {
  readonly identity: Pick<Identity, 'admittedKey' | 'rotatedFrom' | 'admittedAtMs'> | undefined;
  readonly liveness: Liveness | undefined;
}): Liveness | undefined {
  if (!liveness || identity?.admittedKey === undefined) return undefined;
  // After a rotation it goes on under the key that the admitted one took over from.
  const isOfKey = liveness.key === identity.admittedKey || liveness.key === identity.rotatedFrom;
  return isOfKey && liveness.joinedAtMs >= (identity.admittedAtMs ?? 0) ? liveness : undefined;
}
