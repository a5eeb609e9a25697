import type { NatsConnection } from '@nats-io/transport-node';
import { errorCatalogue } from '@rollcall/shared/errors';
import type { ClusterRecord } from '@rollcall/shared/events';
import { type AnswerResult, answerSubject, encodeAnswer } from '@rollcall/shared/protocol';
import type { Nkey } from '@rollcall/shared/trust';
import { type CredentialIssuer, issueCredentials, renewAfterMs } from './credentials.ts';
import type { Refusal } from './refusal.ts';
import type { Standing } from './standing.ts';

export interface AnswerSettings {
  readonly hubId: string;
  readonly answerKey: Nkey;
  readonly issuer: CredentialIssuer;
  readonly memberLifeMs: number;
  readonly waitingLifeMs: number;
  readonly beatIntervalMs: number;
}

/** An agent that waits hears the decision at once; it asks again only in case it missed it. */
const askAgainWhileWaitingMs = 30_000;
/** People change their minds, policies change: a refusal is worth another try, but not soon. */
const askAgainAfterRefusalMs = 300_000;
const askAgainAfterTroubleMs = 5_000;

export function refusalResult({ code, message }: Refusal): AnswerResult {
  const { hint, retry } = errorCatalogue[code];
  const isTrouble = code === 'HUB_BUSY' || code === 'BUS_UNREACHABLE' || code === 'UNEXPECTED';
  return {
    kind: 'refused',
    code,
    message,
    hint,
    askAgainMs: retry && isTrouble ? askAgainAfterTroubleMs : askAgainAfterRefusalMs,
  };
}

/** Says where a key stands, with the credentials that go with it, made at this moment. */
export function standingResult(
  standing: Standing,
  about: { record: ClusterRecord; agentKey: string; nowMs: number; random: number },
  settings: AnswerSettings,
): AnswerResult {
  const { record, agentKey, nowMs } = about;
  const { identity, decision } = record;
  const clusterId = record.aggregate.id;
  switch (standing.kind) {
    case 'refused':
      return refusalResult(standing.refusal);
    case 'unknown':
      return refusalResult({ code: 'TOKEN_UNKNOWN', message: 'this key has no request on this hub' });
    case 'waiting': {
      const { jwt } = issueCredentials(settings.issuer, {
        role: 'waiting',
        agentKey,
        name: clusterId,
        nowMs,
        lifeMs: settings.waitingLifeMs,
      });
      const { reason, message } = standing;
      return {
        kind: 'waiting',
        clusterId,
        reason,
        message,
        credentials: jwt,
        askAgainMs: askAgainWhileWaitingMs,
      };
    }
    case 'member': {
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
        beatIntervalMs: decision ? decision.heartbeat.intervalSeconds * 1000 : settings.beatIntervalMs,
      };
    }
  }
}

/** Sends to the subject of the agent itself, never to a reply subject: that would be the sender's to choose. */
export function sendAnswer(
  nc: NatsConnection,
  settings: AnswerSettings,
  to: { agentKey: string; verb: string; inReplyTo: string; nowMs: number; result: AnswerResult },
): void {
  const { agentKey, inReplyTo, nowMs, result } = to;
  const answer = encodeAnswer(
    { v: 1, hub: settings.hubId, to: agentKey, inReplyTo, atMs: nowMs, result },
    settings.answerKey,
  );
  nc.publish(answerSubject(agentKey, to.verb), answer);
}
