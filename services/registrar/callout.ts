import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, isSafeId, tokenRecord } from '@rollcall/shared/events';
import { type AgentRole, scopedUserClaims } from '@rollcall/shared/rights';
import type { Logger, Metrics } from '@rollcall/shared/service';
import {
  decodeJwt,
  encodeJwt,
  isPublicNkey,
  type Nkey,
  tokenIdOf,
  verifyNkeySignature,
  type Xkey,
} from '@rollcall/shared/trust';
import {
  type CalloutClaim,
  type CalloutVerdict,
  judgeReturning,
  judgeTokenHolder,
} from './callout-verdict.ts';

export interface CalloutOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The AUTH account's key: it signs the responses. */
  readonly accountKey: Nkey;
  readonly xkey: Xkey;
  readonly agentsAccount: string;
  readonly signers: Readonly<Record<AgentRole, Nkey>>;
}

interface CalloutRequest {
  readonly serverId: string;
  readonly serverXkey: string | undefined;
  readonly userNkey: string;
  readonly claim: CalloutClaim;
}

interface RequestClaims {
  readonly server_id?: { readonly id?: string; readonly xkey?: string };
  readonly user_nkey?: string;
  readonly client_info?: { readonly nonce?: string };
  readonly connect_opts?: {
    readonly nkey?: string;
    readonly sig?: string;
    readonly user?: string;
    readonly pass?: string;
    readonly name?: string;
  };
}

function readRequest(message: Msg, xkey: Xkey): CalloutRequest | undefined {
  const sender = message.headers?.get('Nats-Server-Xkey');
  const plain = sender ? xkey.open(message.data, sender) : message.data;
  const jwt = plain && decodeJwt(new TextDecoder().decode(plain));
  const claims = jwt?.nats as RequestClaims | undefined;
  const { server_id: server, user_nkey: userNkey, client_info: client, connect_opts: options } = claims ?? {};
  if (!server?.id || !userNkey || jwt?.iss !== server.id) return undefined;
  const { nkey = '', sig = '', user, pass, name } = options ?? {};
  return {
    serverId: server.id,
    serverXkey: server.xkey,
    userNkey,
    claim: { nkey, sig, user, pass, name, nonce: client?.nonce ?? '' },
  };
}

/** Looks up what the hub knows of the keys that are shown. An unknown key costs one read and no cryptography. */
async function judge(claim: CalloutClaim, log: EventLog): Promise<CalloutVerdict> {
  const isProven = (key: string, signature: string) =>
    claim.nonce !== '' && verifyNkeySignature(key, claim.nonce, signature);
  if (!isPublicNkey(claim.nkey, 'user')) return { kind: 'refuse', reason: 'NoKey' };
  if (claim.user !== undefined && claim.user !== '') {
    if (!isPublicNkey(claim.user, 'user')) return { kind: 'refuse', reason: 'NoKey' };
    const token = tokenRecord(await log.read({ kind: 'token', id: tokenIdOf(claim.nkey) }));
    return judgeTokenHolder({ ...claim, user: claim.user }, token, isProven);
  }
  if (!claim.name || !isSafeId(claim.name)) return { kind: 'refuse', reason: 'NoClusterId' };
  return judgeReturning(claim, clusterRecord(await log.read({ kind: 'cluster', id: claim.name })), isProven);
}

/**
 * Answers the server's question "may this one in?" for everybody who has no credentials yet or any more. Replicas share the
 * work. Whoever is refused hears only "authorization violation"; the reason is counted and logged.
 * @returns how to stop hearing, answer what is open, and close the connection
 */
export function answerCallouts(nc: NatsConnection, options: CalloutOptions): { drain(): Promise<void> } {
  const open = new Set<Promise<void>>();
  const { log, logger, metrics, accountKey, xkey, agentsAccount, signers } = options;

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
                nats: scopedUserClaims(agentsAccount),
              },
              signers[verdict.role],
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

  async function decide(message: Msg): Promise<void> {
    const request = readRequest(message, xkey);
    if (!request) {
      metrics.count('rollcall_callouts_total', { outcome: 'malformed' });
      return;
    }
    const verdict = await judge(request.claim, log);
    metrics.count('rollcall_callouts_total', {
      outcome: verdict.kind === 'admit' ? verdict.role : 'refused',
    });
    if (verdict.kind === 'refuse') {
      logger.debug({ reason: verdict.reason, key: request.claim.nkey.slice(0, 56) }, 'connection refused');
    }
    respond(message, request, verdict);
  }

  async function answer(message: Msg): Promise<void> {
    const startedMs = performance.now();
    try {
      await decide(message);
      metrics.observe('rollcall_callout_duration_seconds', (performance.now() - startedMs) / 1000);
    } catch (thrown) {
      metrics.count('rollcall_callouts_total', { outcome: 'failed' });
      logger.warn({ err: toRollcallError(thrown) }, 'callout not answered');
    }
  }

  function take(message: Msg): void {
    const work = answer(message).finally(() => open.delete(work));
    open.add(work);
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
      await Promise.allSettled(open);
      await nc.drain();
    },
  };
}
