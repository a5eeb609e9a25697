import { type AgentRole, scopedUserClaims } from '@rollcall/shared/rights';
import { encodeJwt, type Nkey } from '@rollcall/shared/trust';

export interface CredentialIssuer {
  readonly agentsAccount: string;
  readonly signers: Readonly<Record<AgentRole, Nkey>>;
}

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
