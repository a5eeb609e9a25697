import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type Decision,
  type EventDraft,
  held,
  revoked,
  type StoredEvent,
  tokenRecord,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { inSpan } from '@rollcall/shared/tracing';
import {
  type GatheredJudgement,
  gatherJudgement,
  type JudgementParts,
  policiesRead,
  readPolicies,
  versionsOf,
} from './gather-judgement.ts';
import { eachOnce } from '../each-once.ts';
import { decideRequest } from './decide-request.ts';

export interface JudgeParts extends JudgementParts {
  readonly log: EventLog;
  readonly logger: Logger;
  /** How long the agent of a cluster that leaves has to clean up. */
  readonly leaveWaitMs: number;
}

/** Judges the current request of a cluster by the policies in force, and writes the decision. */
export async function judgeRequest(parts: JudgeParts, clusterId: string, trace: Trace): Promise<void> {
  for (;;) {
    const { context, drafts } = await parts.fleet.inTurn((checkTurn) =>
      decideAndAppend(
        parts.log,
        {
          async gather() {
            const gathered = await gatherJudgement(parts, clusterId);
            checkTurn();
            return gathered;
          },
          decide: (gathered: GatheredJudgement): EventDraft[] => decideRequest(gathered),
        },
        trace,
      ),
    );
    const [decision] = drafts;
    if (!decision) return;
    parts.logger.info(
      { clusterId, reason: decision.reason, correlation: trace.correlation },
      `request ${decision.definition.type}`,
    );
    // The end of the decision before this one was still due; now the request itself.
    if (decision.definition === revoked) continue;
    // A policy that came between reading them and this event has looked for held requests before it was one: judge again.
    if (decision.definition !== held) return;
    if (versionsOf(await readPolicies(parts.log)) === versionsOf(context.policies)) return;
  }
}

/**
 * Whether what a person decided about the cluster left its request waiting, without a look at policies: a ban was taken back, or
 * access was restored to a key that may have signed for the one that asks.
 */
export function leavesRequestOpen({
  definition,
  section,
}: Pick<StoredEvent, 'definition' | 'section'>): boolean {
  const isOther = definition.writer === 'approver' && definition.kind === 'cluster' && definition !== held;
  return isOther && (section as Decision).verdict === 'held';
}

/** Most looks at a held request change nothing and are no step of its trace: one that writes something has a span. */
function withSpans(log: EventLog): EventLog {
  return {
    ...log,
    append(drafts, trace) {
      const step = {
        name: 'approver judges again',
        kind: 'internal',
        traceparent: trace.traceparent,
        attributes: { 'rollcall.service': 'approver', 'rollcall.correlation': trace.correlation },
      } as const;
      return inSpan(step, (traceparent) => log.append(drafts, { ...trace, traceparent }));
    },
  };
}

/** Judges held requests again where policies read what changes by itself: the time, or counts of the fleet. */
export async function judgeAsTimePasses(parts: JudgeParts): Promise<void> {
  const policies = await readPolicies(parts.log);
  if (!policiesRead(policies, 'time') && !policiesRead(policies, 'fleet')) return;
  await eachOnce(await parts.fleet.pending(), (clusterId) => judgeHeldAgain(parts, clusterId));
}

/** @param tokenId - only where it asked with this token */
async function judgeHeldAgain(parts: JudgeParts, clusterId: string, tokenId?: string): Promise<void> {
  const record = clusterRecord(await parts.log.read({ kind: 'cluster', id: clusterId }));
  const { decision, newest, identity } = record;
  if (decision?.verdict !== 'held' || !identity) return;
  if (tokenId !== undefined && identity.request.tokenId !== tokenId) return;
  const trace = { correlation: identity.request.id, traceparent: newest?.traceparent };
  await judgeRequest({ ...parts, log: withSpans(parts.log) }, clusterId, trace);
}

/** Judges held requests of a token again; done when it is declared or withdrawn. A token that nobody has used has none. */
export async function judgeHeldOfToken(parts: JudgeParts, tokenId: string): Promise<void> {
  const { uses } = tokenRecord(await parts.log.read({ kind: 'token', id: tokenId }));
  if (uses) await judgeHeldRequests(parts, tokenId);
}

/** Judges every held request again; done when a policy has changed. One after another: it must not delay new requests. */
export async function judgeHeldRequests(parts: JudgeParts, tokenId?: string): Promise<void> {
  async function* waiting() {
    for await (const { id } of parts.log.scan({ filter: 'cluster.*.held', isWhole: true })) yield id;
  }
  await eachOnce(waiting(), (id) => judgeHeldAgain(parts, id, tokenId));
}
