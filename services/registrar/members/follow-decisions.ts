import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog, FactStore } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  admitted,
  type ClusterRecord,
  clusterRecord,
  admittedBy,
  draft,
  type EventDraft,
  left,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { Metrics } from '@rollcall/shared/service';
import { isAboutSettings, tellAccess } from './answer-access-request.ts';
import { replyByRecord, type ReplySettings, sendReply } from '../replies/reply.ts';
import { rotatedResult } from './key-rotation.ts';
import type { EndedLeavings } from './leaving-timeout.ts';
import { leavingKeyOf } from '../replies/key-status.ts';
import { type LeavingContext, leftStep } from './end-leaving.ts';
import { pinOfAdmission } from './issuer-pin.ts';
import { tellInterval } from '../replies/tell-interval.ts';
import type { SettingsTeller } from '../replies/tell-settings.ts';

/**
 * What follows for the registrar from the approver's newest decision: a key that is approved is admitted, once; a cluster
 * whose leaving is through has left. Looks at the record only, so that redelivery and reordering change nothing.
 */
export function admissionStep({ record, nowMs }: LeavingContext): EventDraft[] {
  const { identity, decision } = record;
  if (!identity || !decision || identity.state === 'left') return [];
  const { approvedKey } = decision;
  // Also while another key requests: its request may have overtaken this.
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
  return leftStep({ record, nowMs });
}

/** Tells a member all that people can change about it. */
export const tellMember =
  (nc: NatsConnection, by: { log: Pick<EventLog, 'read'>; settings: ReplySettings }) =>
  async (clusterId: string): Promise<void> => {
    await tellInterval(nc, { id: clusterId }, by);
    await tellAccess(nc, { id: clusterId }, by);
  };

/** Tells the agent at once what was decided about it; if it is not listening, it asks and hears the same. */
export function createAdmission(
  nc: NatsConnection,
  log: EventLog,
  {
    settings,
    metrics,
    facts,
    leavings,
    teller,
  }: {
    settings: ReplySettings;
    metrics: Metrics;
    facts: FactStore;
    leavings: Pick<EndedLeavings, 'putAside'>;
    teller: Pick<SettingsTeller, 'tell'>;
  },
) {
  function observeAdmission({ identity, decision }: ClusterRecord, nowMs: number): void {
    if (!identity || !decision) return;
    const seconds = Math.max(0, nowMs - identity.request.requestedAtMs) / 1000;
    const by = admittedBy(decision, identity.request);
    if (by) metrics.observe('rollcall_admission_duration_seconds', seconds, { by });
  }

  /** Facts first, then the record: those of a cluster that has come back meanwhile are newer, and stay. */
  async function forgetFacts(clusterId: string): Promise<void> {
    const last = await facts.get(clusterId);
    if (!last) return;
    const { identity } = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    if (identity?.state === 'left') await facts.forget(clusterId, last.sequence);
  }

  return async function admit(event: StoredEvent): Promise<void> {
    if (isAboutSettings(event)) return teller.tell(event.id);
    if (event.type === 'left') return forgetFacts(event.id);
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
    if (!identity || drafts.some(({ definition }) => definition === left)) return;
    leavings.putAside(event.id, context);
    const leavingKey = leavingKeyOf(record);
    const agentKey = leavingKey ?? identity.request.key;
    const result = replyByRecord({ record, agentKey, nowMs }, settings);
    const inReplyTo = identity.request.id;
    const rotation = event.type === 'approved' ? rotatedResult(context, settings) : undefined;
    const former = record.decision?.retiringKey;
    if (rotation && former !== undefined)
      sendReply(nc, settings, { agentKey: former, verb: 'rotate', inReplyTo, nowMs, result: rotation });
    // That a former key is out is no news for the one that is in.
    if (event.type === 'revoked' && result.kind === 'admitted') return;
    sendReply(nc, settings, { agentKey, verb: 'join', inReplyTo, nowMs, result });
  };
}
