import type { NatsConnection } from '@nats-io/transport-node';
import { errorCatalogue } from '@rollcall/shared/errors';
import type { ClusterRecord, EventDraft } from '@rollcall/shared/events';
import { type ReplyResult, replySubject, encodeReply, type SignedLink } from '@rollcall/shared/protocol';
import type { HubCas } from '@rollcall/shared/protocol/hub-cas';
import type { Nkey } from '@rollcall/shared/trust';
import { intervalFor } from './heartbeat-interval.ts';
import { type CredentialIssuer, issueCredentials } from './issue-credentials.ts';
import { renewAfterMs } from './renew-after.ts';
import type { Refusal } from './refusal.ts';
import { isKeyTakenBack, keyTakenBack, type KeyStatus, keyStatusOf } from './key-status.ts';

export interface ReplySettings {
  readonly hubId: string;
  readonly replyKey: Nkey;
  /** From the hub's first reply key to this one; empty while it is the first. */
  readonly replyChain: readonly SignedLink[];
  /** Once a CA has been announced or replaced; agents know their hub by it from then on. */
  readonly hubCas: HubCas | undefined;
  /** Once an operator has told them (`rollcall trust addresses`). */
  readonly hubAddresses: readonly string[] | undefined;
  readonly issuer: CredentialIssuer;
  readonly memberLifeMs: number;
  readonly waitingLifeMs: number;
  readonly heartbeatIntervalMs: number;
  /** How many times its interval an agent waits between two heartbeats, because the fleet is so large. */
  intervalMultiplier(): number;
  /** Over how long agents spread their return after an outage; undefined: as they like. */
  returnWithinMs(): number | undefined;
}

/** An agent that waits hears the decision at once; it asks again only in case it missed it. */
const retryWhileWaitingMs = 30_000;
/** People change their minds, policies change: a refusal is worth another try, but not soon. */
const retryAfterRefusalMs = 300_000;
const retryAfterTroubleMs = 5_000;
/** The reply tells the agent the time: it can ask rightly at once (ADR 6). */
const retryInTimeMs = 1_000;

/** It is the hub, not the request: the same request may be taken soon. */
const troubles: ReadonlySet<string> = new Set<Refusal['code']>([
  'HUB_BUSY',
  'HUB_FULL',
  'TOO_MANY_OPEN_REQUESTS',
  'ACCESS_UNAVAILABLE',
  // Lost again and again, or no room for a batch.
  'APPEND_CONFLICT',
  'BUS_UNREACHABLE',
  'UNEXPECTED',
]);

export const isTrouble = (code: Refusal['code']): boolean => troubles.has(code);

export function refusalResult({ code, message }: Refusal): ReplyResult {
  const { hint, retry } = errorCatalogue[code];
  const isLate = code === 'CLOCK_SKEW' || code === 'REPLAYED';
  return {
    kind: 'refused',
    code,
    message,
    hint,
    retryAfterMs: isLate
      ? retryInTimeMs
      : retry && isTrouble(code)
        ? retryAfterTroubleMs
        : retryAfterRefusalMs,
  };
}

/** Whether a person wants the agent of this key to take another one: part of what is answered to it. */
export function rotateKeyOf({ decision }: ClusterRecord, agentKey: string): { rotateKey?: string } {
  const isRequested = decision?.approvedKey === agentKey && decision.rotationRequest?.key === agentKey;
  return isRequested ? { rotateKey: agentKey } : {};
}

/** Whether a person has shut the member to people: part of what is answered to its facts, and news when it changes. */
export function memberAccessOf({ decision }: ClusterRecord): { memberAccess?: 'Denied' } {
  return decision?.memberAccess === undefined ? {} : { memberAccess: decision.memberAccess };
}

/** Says the status of a key, with the credentials that go with it, made at this moment. */
export function keyStatusResult(
  status: KeyStatus,
  about: { record: ClusterRecord; agentKey: string; nowMs: number; random: number },
  settings: ReplySettings,
): ReplyResult {
  const { record, agentKey, nowMs } = about;
  const { identity, decision } = record;
  const clusterId = record.aggregate.id;
  // Another key's request may be the newest one.
  const own = identity?.request.key === agentKey ? identity.request : undefined;
  const dropped =
    own === undefined || own.droppedLabels.length === 0 ? {} : { droppedLabels: own.droppedLabels };
  switch (status.kind) {
    case 'refused':
      return refusalResult(status.refusal);
    case 'leaving': {
      const { reason, message } = status;
      return { kind: 'leave', clusterId, reason, message };
    }
    case 'unknown':
      return refusalResult({ code: 'TOKEN_UNKNOWN', message: 'this key has no request on this hub' });
    case 'waiting': {
      const { reason, message } = status;
      const waiting = {
        kind: 'waiting',
        clusterId,
        reason,
        message,
        retryAfterMs: retryWhileWaitingMs,
        ...dropped,
      } as const;
      // The servers refuse every credential of a key on the revocation list until it is approved again; it waits over the callout.
      if (isKeyTakenBack(record, agentKey)) return waiting;
      const { jwt } = issueCredentials(settings.issuer, {
        role: 'waiting',
        agentKey,
        name: clusterId,
        nowMs,
        lifeMs: settings.waitingLifeMs,
      });
      return { ...waiting, credentials: jwt };
    }
    case 'member': {
      // An approval takes the key off the list: what says both is no word to give credentials for.
      if (isKeyTakenBack(record, agentKey)) return refusalResult(keyTakenBack);
      const lifeMs = settings.memberLifeMs;
      const { jwt, expiresAtMs } = issueCredentials(settings.issuer, {
        role: 'member',
        agentKey,
        name: clusterId,
        nowMs,
        lifeMs,
      });
      return {
        kind: 'admitted',
        clusterId,
        clusterName: identity?.clusterName ?? clusterId,
        namespace: decision?.namespace ?? '',
        credentials: jwt,
        expiresAtMs,
        renewAfterMs: renewAfterMs(lifeMs, about.random),
        access: decision?.access ?? 'None',
        ...dropped,
        ...rotateKeyOf(record, agentKey),
        ...intervalFor(record, settings),
      };
    }
  }
}

/**
 * Says where a key stands by the record of its cluster.
 * @param about.drafts - what has been appended to the record since: it is not read again
 * @param about.nowMs - from before the record was read: credentials must be older than whatever takes their key back after that
 */
export function replyByRecord(
  about: { record: ClusterRecord; drafts?: readonly EventDraft[]; agentKey: string; nowMs: number },
  settings: ReplySettings,
): ReplyResult {
  const { drafts: [draft] = [], agentKey, nowMs } = about;
  const record = draft
    ? { ...about.record, identity: draft.section as ClusterRecord['identity'] }
    : about.record;
  return keyStatusResult(
    keyStatusOf(record, agentKey),
    { record, agentKey, nowMs, random: Math.random() },
    settings,
  );
}

/** Sends to the subject of the agent itself, never to a reply subject: that would be the sender's to choose. */
export function sendReply(
  nc: NatsConnection,
  settings: ReplySettings,
  to: { agentKey: string; verb: string; inReplyTo: string; nowMs: number; result: ReplyResult },
): void {
  const { agentKey, inReplyTo, nowMs, result } = to;
  const { hubId, hubCas, hubAddresses, replyKey, replyChain } = settings;
  const trust = {
    ...(hubCas === undefined ? {} : { hubCas }),
    ...(hubAddresses === undefined ? {} : { hubAddresses }),
  };
  const answer = encodeReply(
    { v: 1, hub: hubId, to: agentKey, inReplyTo, atMs: nowMs, ...trust, result },
    replyKey,
    replyChain,
  );
  nc.publish(replySubject(agentKey, to.verb), answer);
}
