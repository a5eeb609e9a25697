import {
  agentInstalled,
  type ClusterRecord,
  draft,
  type EventDraft,
  hosted,
  hostingFailed,
} from '@rollcall/shared/events';
import type { DesiredHosting } from './desired-hosting.ts';

/** What became of a member that the hub reaches by itself. */
export interface HostingOutcome {
  readonly state: 'probed' | 'installed' | 'failed';
  /** CamelCase; the reason of the condition Hosted. */
  readonly reason: string;
  /** In our words: nothing that the member or its kubeconfig says. */
  readonly message: string;
}

const definitions = { probed: hosted, installed: agentInstalled, failed: hostingFailed } as const;

/** The event that says so; none where the record says it already, or is about another registration of the cluster. */
export function decideHosting(context: {
  readonly record: ClusterRecord;
  readonly hosting: Pick<DesiredHosting, 'sinceMs'>;
  readonly outcome: HostingOutcome;
  readonly nowMs: number;
}): EventDraft[] {
  const { record, hosting, outcome, nowMs } = context;
  const { sinceMs } = hosting;
  if (record.decision?.predefined?.kubeconfig?.sinceMs !== sinceMs) return [];
  const said = record.lastOf['agent-host'];
  const { state, reason, message } = outcome;
  const isSaid =
    record.hosting?.sinceMs === sinceMs && record.hosting.state === state && said?.reason === reason;
  // Of a kubeconfig much can be refused for the one reason, and people correct one thing after the other.
  if (isSaid && (state !== 'failed' || said?.message === message)) return [];
  const section = { state, sinceMs, atMs: nowMs };
  return [draft(definitions[state], record, { reason, message, section })];
}
