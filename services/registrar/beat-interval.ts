import type { ClusterRecord } from '@rollcall/shared/events';

/** How often the agent of a cluster shall beat: as its decision says, stretched while the fleet is too large for that. */
export function beatIntervalOf(
  { decision }: Pick<ClusterRecord, 'decision'>,
  settings: { readonly beatIntervalMs: number; beatStretch(): number },
): number {
  const ownMs = decision ? decision.heartbeat.intervalSeconds * 1000 : settings.beatIntervalMs;
  return Math.round(ownMs * settings.beatStretch());
}
