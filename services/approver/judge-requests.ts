import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { clusterRecord, type EventDraft, held } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import {
  type GatheredJudgement,
  gatherJudgement,
  type JudgementParts,
  readPolicies,
  versionsOf,
} from './policy-verdict.gather.ts';
import { decideRequest } from './policy-verdict.ts';

export interface JudgeParts extends JudgementParts {
  readonly log: EventLog;
  readonly logger: Logger;
}

/** Judges the current request of a cluster by the policies in force, and writes the decision. */
export async function judgeRequest(parts: JudgeParts, clusterId: string, trace: Trace): Promise<void> {
  for (;;) {
    const { context, drafts } = await decideAndAppend(
      parts.log,
      {
        gather: () => gatherJudgement(parts, clusterId),
        decide: (gathered: GatheredJudgement): EventDraft[] => decideRequest(gathered),
      },
      trace,
    );
    const [decision] = drafts;
    if (!decision) return;
    parts.logger.info(
      { clusterId, reason: decision.reason, correlation: trace.correlation },
      `request ${decision.definition.type}`,
    );
    // A policy that came between reading them and this event has looked for held requests before it was one: judge again.
    if (decision.definition !== held) return;
    if (versionsOf(await readPolicies(parts.log)) === versionsOf(context.policies)) return;
  }
}

/** Judges every held request again; done when a policy has changed. One after another: it must not delay new requests. */
export async function judgeHeldRequests(parts: JudgeParts): Promise<void> {
  const seen = new Set<string>();
  for await (const event of parts.log.scan({ filter: 'cluster.*.held' })) {
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    const { decision, newest, identity } = clusterRecord(
      await parts.log.read({ kind: 'cluster', id: event.id }),
    );
    if (decision?.verdict !== 'held' || !identity) continue;
    await judgeRequest(parts, event.id, {
      correlation: identity.request.id,
      traceparent: newest?.traceparent,
    });
  }
}
