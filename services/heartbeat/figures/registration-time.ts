import { type ClusterRecord, admittedBy } from '@rollcall/shared/events';
import type { Metrics } from '@rollcall/shared/service';

/** Measures from a cluster's request to its first heartbeat, which has just been written. */
export function observeRegistration(
  metrics: Metrics,
  { identity, decision }: ClusterRecord,
  nowMs: number,
): void {
  if (!identity || !decision) return;
  const seconds = Math.max(0, nowMs - identity.request.requestedAtMs) / 1000;
  const by = admittedBy(decision, identity.request);
  if (by) metrics.observe('rollcall_registration_duration_seconds', seconds, { by });
}
