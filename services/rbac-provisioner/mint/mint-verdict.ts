import { accessGiven, type ClusterRecord, draft, type EventDraft } from '@rollcall/shared/events';
import { areTokensStale, hasAccount, isProvisioned, wantedAccess } from '../access/plan-access.ts';

/** Whether an access token may be made for a key, and what has to be kept before. */
export type MintVerdict =
  | { readonly kind: 'mint'; readonly namespace: string; readonly drafts: readonly EventDraft[] }
  /** The approver's last decision gives this key no access. */
  | { readonly kind: 'none' }
  /** It does, but namespace and ServiceAccount are not as they should be yet. */
  | { readonly kind: 'not-yet' };

/**
 * Judges by the approver's own last decision and by nothing that the registrar says (principle 1). That the first token is made
 * is kept before it exists, so that whatever withdraws it finds that there is something to withdraw.
 */
export function judgeMint(record: ClusterRecord, by: { agentKey: string; nowMs: number }): MintVerdict {
  const { decision, access } = record;
  const isIn = decision?.approvedKey === by.agentKey && wantedAccess(record) === 'give-access';
  if (!isIn) return { kind: 'none' };
  if (!access || !isProvisioned(record) || !hasAccount(record) || areTokensStale(record))
    return { kind: 'not-yet' };
  const { namespace } = access;
  if (access.tokens) return { kind: 'mint', namespace, drafts: [] };
  const section = { ...access, tokens: { key: by.agentKey, sinceMs: by.nowMs } };
  const given = draft(accessGiven, record, {
    by: { service: 'rbac-provisioner' },
    reason: 'AccessGiven',
    message: `the agent was given access to namespace "${namespace}"`,
    section,
  });
  return { kind: 'mint', namespace, drafts: [given] };
}
