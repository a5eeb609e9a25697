import type { ClusterRecord, MemberBeforeRestore, Restored } from '@rollcall/shared/events';
import type { CredentialIssuer } from '../replies/issue-credentials.ts';
import { readMemberCredentials } from './member-credentials.ts';

/** An agent that slept longer registers anew; a hub that was away so long is restored by people who look anyway. */
const longestEndedMs = 7 * 86_400_000;
/** The clock of the machine that the hub ran on before. */
const clockToleranceMs = 60_000;

/** What a restored hub judges former members by. */
export interface EpochBefore {
  readonly restored: Pick<Restored, 'backupTakenAtMs'>;
  readonly issuer: CredentialIssuer;
}

/**
 * Whether the history says nothing of a cluster: it may have come after the backup. A cluster that left, or is banned, is known; one that a
 * person laid down beforehand takes a token that names it.
 */
export function isForgotten({ identity, decision }: Pick<ClusterRecord, 'identity' | 'decision'>): boolean {
  return decision === undefined && (identity === undefined || identity.state === 'refused');
}

/**
 * Whether a JWT shows that this hub had let this very key in as this very cluster, after the backup that it was restored from
 * (ADR 15). Nobody is let in by that: it takes the place of a token, and a person decides.
 * @param jwt - of a member, as the hub issued it; it may have ended up to seven days ago
 * @returns undefined where it shows no such thing
 */
export function judgeMemberBeforeRestore(
  jwt: string,
  about: { agentKey: string; clusterId: string; nowMs: number },
  { restored, issuer }: EpochBefore,
): MemberBeforeRestore | undefined {
  const shown = readMemberCredentials(jwt, about, issuer);
  if (!shown) return undefined;
  const { issuedAtMs, endsAtMs } = shown;
  // Who was let in before the backup is in it; if it is not, the history was changed, and no JWT makes that good.
  if (issuedAtMs + clockToleranceMs < restored.backupTakenAtMs) return undefined;
  if (issuedAtMs > about.nowMs + clockToleranceMs || endsAtMs + longestEndedMs < about.nowMs)
    return undefined;
  return { issuedAtMs, endsAtMs };
}
