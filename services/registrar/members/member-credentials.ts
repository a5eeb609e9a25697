import { decodeJwt } from '@rollcall/shared/trust';
import type { CredentialIssuer } from '../replies/issue-credentials.ts';

/**
 * What a JWT shows of a key that was let in, whether it has ended or not: that this hub had let this very key in as this very cluster.
 * @param jwt - as somebody shows it; costs a verification
 * @returns undefined where it shows no such thing
 */
export function readMemberCredentials(
  jwt: string,
  about: { agentKey: string; clusterId: string },
  issuer: CredentialIssuer,
): { issuedAtMs: number; endsAtMs: number } | undefined {
  const claims = decodeJwt(jwt);
  if (claims?.exp === undefined) return undefined;
  // The key for members signs nothing but member credentials: its template is in the account's claim.
  const isOurs =
    claims.iss === issuer.signers.member.publicKey && claims.nats['issuer_account'] === issuer.agentsAccount;
  if (!isOurs || claims.sub !== about.agentKey || claims.name !== about.clusterId) return undefined;
  return { issuedAtMs: claims.iat * 1000, endsAtMs: claims.exp * 1000 };
}
