import { type AgentRole, scopedUserClaims } from '@rollcall/shared/rights';
import { encodeJwt, type Nkey } from '@rollcall/shared/trust';

export interface CredentialIssuer {
  readonly agentsAccount: string;
  readonly signers: Readonly<Record<AgentRole, Nkey>>;
}

/**
 * Agents renew at a random point between 60 and 80 % of the life, so that a fleet never renews together. The agent takes off up
 * to 5 % by chance of its own (agent/session/renewal-time.ts), so the hub's share of the span begins that much later.
 */
const renewFrom = 0.6 / 0.95;
const renewTo = 0.8;

/**
 * A user JWT for an agent's own key, with the rights of the role's template.
 * @param grant.name - the cluster id; it becomes a subject token, so it must have been checked
 */
export function issueCredentials(
  issuer: CredentialIssuer,
  grant: { role: 'waiting' | 'member'; agentKey: string; name: string; nowMs: number; lifeMs: number },
): { jwt: string; expiresAtMs: number } {
  const expiresAtMs = grant.nowMs + grant.lifeMs;
  const jwt = encodeJwt(
    {
      subject: grant.agentKey,
      name: grant.name,
      nowMs: grant.nowMs,
      expiresAtMs,
      nats: scopedUserClaims(issuer.agentsAccount),
    },
    issuer.signers[grant.role],
  );
  return { jwt, expiresAtMs };
}

/** @param random - 0 to 1 */
export function renewAfterMs(lifeMs: number, random: number): number {
  return Math.round(lifeMs * (renewFrom + (renewTo - renewFrom) * random));
}
