import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog, FactStore } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  admitted,
  agentAwaitedUntilMs,
  type ClusterRecord,
  clusterRecord,
  letInBy,
  draft,
  type EventDraft,
  left,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { Metrics } from '@rollcall/shared/service';
import { isAboutSettings, tellAccess } from './access.ts';
import { answerByRecord, type AnswerSettings, sendAnswer } from './answer.ts';
import { rotatedResult } from './key-rotation.ts';
import { leavingKeyOf } from './leave.ts';
import { pinOfAdmission } from './member-pin.ts';
import { tellInterval } from './tell-interval.ts';

interface AdmissionContext {
  readonly record: ClusterRecord;
  readonly nowMs: number;
}

/**
 * Of this life: a cluster that came back may still have the end of its former one in its record. And by its leaving: what was
 * denied or revoked before keeps its namespace, which goes only with that.
 */
function isGone({ access, decision }: ClusterRecord): boolean {
  const isTakenAway = access?.state === 'deprovisioned' && access.verdict === 'leaving';
  return isTakenAway && access.requestId === decision?.requestId;
}

/**
 * What follows for the registrar from the approver's newest decision: a key that is approved is admitted, once; a cluster
 * whose leaving is through has left. Looks at the record only, so that redelivery and reordering change nothing.
 */
export function admissionStep({ record, nowMs }: AdmissionContext): EventDraft[] {
  const { identity, decision } = record;
  if (!identity || !decision || identity.state === 'left') return [];
  const { approvedKey } = decision;
  // Also while another key asks: its request may have overtaken this.
  if (approvedKey !== undefined) {
    if (identity.state === 'admitted' && identity.admittedKey === approvedKey) return [];
    const { member, rotatedFrom: _from, rotatedAtMs: _at, ...rest } = identity;
    const isRotation = identity.admittedKey !== undefined && identity.admittedKey === decision.retiringKey;
    const section = {
      ...rest,
      state: 'admitted' as const,
      admittedKey: approvedKey,
      // The same agent goes on: what is known of its liveness and of its member stays.
      ...(isRotation
        ? { rotatedFrom: decision.retiringKey, ...(member === undefined ? {} : { member }) }
        : { admittedAtMs: nowMs, ...pinOfAdmission(identity, approvedKey) }),
    };
    return [
      draft(admitted, record, { reason: 'Admitted', message: 'member credentials were issued', section }),
    ];
  }
  if (decision.verdict === 'leaving' && isGone(record) && nowMs >= (agentAwaitedUntilMs(record) ?? 0)) {
    const { admittedKey: _gone, ...rest } = identity;
    return [
      draft(left, record, {
        reason: 'Left',
        message: 'access and credentials are gone',
        section: { ...rest, state: 'left' as const },
      }),
    ];
  }
  return [];
}

/**
 * How long the agent of a leaving cluster still has: its time ends without any event, so the one that says that access is gone
 * is handled again then. One of an earlier life, delivered late, has nothing to wait for: that of this life is still to come.
 */
export function leavingAgainInMs({ record, nowMs }: AdmissionContext): number | undefined {
  const isWaited = record.identity?.state !== 'left' && isGone(record);
  const untilMs = isWaited ? agentAwaitedUntilMs(record) : undefined;
  return untilMs === undefined ? undefined : Math.max(1, untilMs - nowMs);
}

/** Tells the agent at once what was decided about it; if it is not listening, it asks and hears the same. */
export function createAdmission(
  nc: NatsConnection,
  log: EventLog,
  { settings, metrics, facts }: { settings: AnswerSettings; metrics: Metrics; facts: FactStore },
) {
  function observeAdmission({ identity, decision }: ClusterRecord, nowMs: number): void {
    if (!identity || !decision) return;
    const seconds = Math.max(0, nowMs - identity.request.requestedAtMs) / 1000;
    const by = letInBy(decision, identity.request);
    if (by) metrics.observe('rollcall_admission_duration_seconds', seconds, { by });
  }

  /** Facts first, then the record: those of a cluster that has come back meanwhile are newer, and stay. */
  async function forgetFacts(clusterId: string): Promise<void> {
    const last = await facts.get(clusterId);
    if (!last) return;
    const { identity } = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    if (identity?.state === 'left') await facts.forget(clusterId, last.sequence);
  }

  return async function admit(event: StoredEvent): Promise<{ againInMs: number } | void> {
    if (isAboutSettings(event)) {
      await tellInterval(nc, event, { log, settings });
      return tellAccess(nc, event, { log, settings });
    }
    const { correlation, traceparent } = event;
    const { context, drafts } = await decideAndAppend(
      log,
      {
        gather: async () => {
          // Before reading: credentials must be older than whatever takes their key back after that.
          const nowMs = Date.now();
          return { record: clusterRecord(await log.read({ kind: 'cluster', id: event.id })), nowMs };
        },
        decide: admissionStep,
      },
      { correlation, traceparent },
    );
    const { record, nowMs } = context;
    const { identity } = record;
    if (drafts.some(({ definition }) => definition === admitted)) observeAdmission(record, nowMs);
    const hasLeft = drafts.some(({ definition }) => definition === left);
    // Also where it had left before: the one who wrote that may not have come to it.
    if (hasLeft || identity?.state === 'left') await forgetFacts(event.id);
    if (!identity || hasLeft) return;
    const leavingKey = leavingKeyOf(record);
    const agentKey = leavingKey ?? identity.request.key;
    const result = answerByRecord({ record, agentKey, nowMs }, settings);
    const inReplyTo = identity.request.id;
    const rotation = event.type === 'approved' ? rotatedResult(context, settings) : undefined;
    const former = record.decision?.retiringKey;
    if (rotation && former !== undefined)
      sendAnswer(nc, settings, { agentKey: former, verb: 'rotate', inReplyTo, nowMs, result: rotation });
    // That a former key is out is no news for the one that is in.
    if (event.type === 'revoked' && result.kind === 'admitted') return;
    sendAnswer(nc, settings, { agentKey, verb: 'join', inReplyTo, nowMs, result });
    const againInMs = event.type === 'deprovisioned' ? leavingAgainInMs(context) : undefined;
    return againInMs === undefined ? undefined : { againInMs };
  };
}
