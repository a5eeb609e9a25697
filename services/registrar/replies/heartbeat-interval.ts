import type { ClusterRecord } from '@rollcall/shared/events';

/** How often the agent of a cluster shall send heartbeats: as its decision says, multiplied while the fleet is too large for that. */
export function heartbeatIntervalOf(
  { decision }: Pick<ClusterRecord, 'decision'>,
  settings: { readonly heartbeatIntervalMs: number; intervalMultiplier(): number },
): number {
  const ownMs = decision ? decision.heartbeat.intervalSeconds * 1000 : settings.heartbeatIntervalMs;
  return Math.round(ownMs * settings.intervalMultiplier());
}

/** What a member is told of its interval. */
export function intervalFor(
  record: Pick<ClusterRecord, 'decision'>,
  settings: Parameters<typeof heartbeatIntervalOf>[1] & { returnWithinMs(): number | undefined },
): { heartbeatIntervalMs: number; returnWithinMs?: number } {
  const returnWithinMs = settings.returnWithinMs();
  return {
    heartbeatIntervalMs: heartbeatIntervalOf(record, settings),
    ...(returnWithinMs === undefined ? {} : { returnWithinMs }),
  };
}
