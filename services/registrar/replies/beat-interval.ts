import type { ClusterRecord } from '@rollcall/shared/events';

/** How often the agent of a cluster shall beat: as its decision says, stretched while the fleet is too large for that. */
export function beatIntervalOf(
  { decision }: Pick<ClusterRecord, 'decision'>,
  settings: { readonly beatIntervalMs: number; beatStretch(): number },
): number {
  const ownMs = decision ? decision.heartbeat.intervalSeconds * 1000 : settings.beatIntervalMs;
  return Math.round(ownMs * settings.beatStretch());
}

/** What a member is told of its pace. */
export function paceFor(
  record: Pick<ClusterRecord, 'decision'>,
  settings: Parameters<typeof beatIntervalOf>[1] & { returnWithinMs(): number | undefined },
): { beatIntervalMs: number; returnWithinMs?: number } {
  const returnWithinMs = settings.returnWithinMs();
  return {
    beatIntervalMs: beatIntervalOf(record, settings),
    ...(returnWithinMs === undefined ? {} : { returnWithinMs }),
  };
}
