import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, isSafeId, tokenRecord } from '@rollcall/shared/events';
import { scopedUserClaims } from '@rollcall/shared/rights';
import type { Logger, Metrics } from '@rollcall/shared/service';
import {
  encodeJwt,
  isPublicNkey,
  type Nkey,
  tokenIdOf,
  verifyNkeySignature,
  type Xkey,
} from '@rollcall/shared/trust';
import { createCalloutQueue } from './callout-queue.ts';
import { type CalloutRequest, decodeCalloutRequest } from './callout-request.ts';
import { createCalloutTurns } from './callout-turn.ts';
import {
  type CalloutClaim,
  type CalloutVerdict,
  judgeReturning,
  judgeTokenHolder,
} from './callout-verdict.ts';
import { createConnectionLimit, shownFrom } from './connection-limit.ts';
import type { CredentialIssuer } from '../replies/issue-credentials.ts';
import type { FloodGuard } from '../limits/cut-request-floods.ts';
import { createTarpit } from '../limits/tarpit.ts';
import { type EpochBefore, judgeMemberBeforeRestore } from '../members/member-before-restore.ts';

export interface CalloutOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The AUTH account's key: it signs the responses. */
  readonly accountKey: Nkey;
  readonly xkey: Xkey;
  /** Its signers are read for each reply, because keys roll over. */
  readonly issuer: CredentialIssuer;
  readonly floods: Pick<FloodGuard, 'letIn' | 'isBlocked'>;
  /** In a hub that was restored. */
  readonly epochBefore?: EpochBefore | undefined;
}

/** Looks up what the hub knows of the keys that are shown. An unknown key costs one read and no cryptography. */
async function judge(
  claim: CalloutClaim,
  log: EventLog,
  epochBefore: EpochBefore | undefined,
): Promise<CalloutVerdict> {
  const isProven = (key: string, signature: string) =>
    claim.nonce !== '' && verifyNkeySignature(key, claim.nonce, signature);
  if (!isPublicNkey(claim.nkey, 'user')) return { kind: 'refuse', reason: 'NoKey' };
  if (claim.user !== undefined && claim.user !== '') {
    if (!isPublicNkey(claim.user, 'user')) return { kind: 'refuse', reason: 'NoKey' };
    const token = tokenRecord(await log.read({ kind: 'token', id: tokenIdOf(claim.nkey) }));
    return judgeTokenHolder({ ...claim, user: claim.user }, token, isProven);
  }
  if (!claim.name || !isSafeId(claim.name)) return { kind: 'refuse', reason: 'NoClusterId' };
  const { name: clusterId, nkey: agentKey, pass: jwt } = claim;
  const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
  return judgeReturning(claim, record, {
    isProven,
    isMemberBeforeRestore: () =>
      jwt !== undefined &&
      epochBefore !== undefined &&
      judgeMemberBeforeRestore(jwt, { agentKey, clusterId, nowMs: Date.now() }, epochBefore) !== undefined,
  });
}

/**
 * Answers the server's question "may this one in?" for everybody who has no credentials yet or any more. Replicas share the
 * work. Whoever is refused hears only "authorization violation"; the reason is counted and logged.
 * @returns how to stop hearing, answer what is open, and close the connection
 */
export function handleCallouts(nc: NatsConnection, options: CalloutOptions): { drain(): Promise<void> } {
  const { log, logger, metrics, accountKey, xkey, issuer, floods } = options;

  const turns = createCalloutTurns(issuer);
  const unlessTooMany = createConnectionLimit();
  const late = createTarpit({
    dropped: () => metrics.count('rollcall_callouts_total', { outcome: 'dropped' }),
  });
  const queue = createCalloutQueue({
    nowMs: () => performance.now(),
    dropped: () => metrics.count('rollcall_callouts_total', { outcome: 'dropped' }),
  });

  /** A newer Rollcall's token or cluster cannot be judged here; it concerns nobody but its holders. */
  async function judgeOrRefuse(claim: CalloutClaim): Promise<CalloutVerdict> {
    try {
      return await judge(claim, log, options.epochBefore);
    } catch (thrown) {
      if (thrown instanceof RollcallError && thrown.code === 'EVENT_VERSION_UNKNOWN')
        return { kind: 'refuse', reason: 'Unreadable' };
      throw thrown;
    }
  }

  function remember(request: CalloutRequest, verdict: CalloutVerdict): void {
    if (verdict.kind === 'refuse') return turns.wasRefused(request, performance.now());
    turns.wasLetIn(request);
    if (verdict.role === 'token') floods.letIn(verdict.agentKey, shownFrom(request));
  }

  function respond(message: Msg, request: CalloutRequest, verdict: CalloutVerdict): void {
    const nowMs = Date.now();
    const result =
      verdict.kind === 'refuse'
        ? { error: verdict.reason }
        : {
            jwt: encodeJwt(
              {
                subject: request.userNkey,
                name: verdict.agentKey,
                nowMs,
                expiresAtMs: nowMs + verdict.lifeMs,
                nats: scopedUserClaims(issuer.agentsAccount),
              },
              issuer.signers[verdict.role],
            ),
          };
    const response = encodeJwt(
      {
        subject: request.userNkey,
        audience: request.serverId,
        nowMs,
        nats: { type: 'authorization_response', ...result },
      },
      accountKey,
    );
    const plain = new TextEncoder().encode(response);
    message.respond(request.serverXkey ? xkey.seal(plain, request.serverXkey) : plain);
  }

  async function decide(message: Msg, request: CalloutRequest): Promise<void> {
    const isLate = turns.isRefusedLate(request.host, performance.now());
    const judged = await judgeOrRefuse(request.claim);
    const verdict = unlessTooMany(request, judged, performance.now());
    metrics.count('rollcall_callouts_total', {
      outcome: verdict.kind === 'admit' ? verdict.role : 'refused',
    });
    remember(request, verdict);
    if (verdict.kind === 'refuse') {
      logger.debug({ reason: verdict.reason, key: request.claim.nkey.slice(0, 56) }, 'connection refused');
    }
    if (verdict.kind === 'refuse' && isLate) late.push(() => respond(message, request, verdict));
    else respond(message, request, verdict);
  }

  /** What it shows has let a flooder in: it is told so late, and nothing is looked up or verified for it. */
  function keepOut(message: Msg, request: CalloutRequest): void {
    metrics.count('rollcall_callouts_total', { outcome: 'temporary-blocklist' });
    late.push(() => respond(message, request, { kind: 'refuse', reason: 'Flooding' }));
  }

  /** @param sinceMs - when it was asked: the server waits from then on, also while others come first */
  async function answer(message: Msg, request: CalloutRequest, sinceMs: number): Promise<void> {
    try {
      await decide(message, request);
      metrics.observe('rollcall_callout_duration_seconds', (performance.now() - sinceMs) / 1000);
    } catch (thrown) {
      metrics.count('rollcall_callouts_total', { outcome: 'failed' });
      logger.warn({ err: toRollcallError(thrown) }, 'callout not answered');
    }
  }

  function take(message: Msg): void {
    const request = decodeCalloutRequest(message.data, message.headers?.get('Nats-Server-Xkey'), xkey);
    if (!request) {
      metrics.count('rollcall_callouts_total', { outcome: 'malformed' });
      return;
    }
    const { nkey, user } = request.claim;
    // As `judge` reads it: an empty user is none. Never the token's key alone, which its holder could flood with as its own.
    const agentKey = user === undefined || user === '' ? nkey : user;
    if (floods.isBlocked([agentKey, shownFrom(request)])) return keepOut(message, request);
    const nowMs = performance.now();
    queue.push(turns.turnOf(request, nowMs), () => answer(message, request, nowMs));
  }

  const subscription = nc.subscribe('$SYS.REQ.USER.AUTH', {
    queue: 'callout',
    callback: (error, message) => {
      if (!error) take(message);
    },
  });
  return {
    async drain() {
      await subscription.drain();
      await queue.drain();
      late.drain();
      await nc.drain();
    },
  };
}
