import { isDeepStrictEqual } from 'node:util';
import {
  type Access,
  type ClusterRecord,
  deprovisioned,
  draft,
  type EventDraft,
  provisioned,
  provisioningFailed,
} from '@rollcall/shared/events';
import { planAccess } from './plan-access.ts';
import { memberName } from './member-access-objects.ts';
import type { AccountUids, ProvisionFailure } from './provision.ts';

/** What was done in Kubernetes, and for which request. */
export type AccessResult = { readonly namespace: string; readonly requestId: string | undefined } & (
  | {
      readonly step: 'provision' | 'give-access';
      readonly failure: ProvisionFailure | undefined;
      /** The account that there was is gone, with the tokens of it; another key has a new one. */
      readonly isWithdrawn: boolean;
      /** What an event says is there was gone, with the tokens of it, and was made again. */
      readonly isMadeAgain: boolean;
      /** Of the account that is there now. */
      readonly uids: AccountUids | undefined;
    }
  | {
      readonly step: 'deprovision';
      /** Why the namespace was not deleted, where it would have been if it were empty. */
      readonly stays?: string | undefined;
    }
);

export interface AccessContext {
  readonly record: ClusterRecord;
  /** Hub time in ms. */
  readonly nowMs: number;
  readonly result: AccessResult | undefined;
}

const by = { service: 'rbac-provisioner' };

function saysTheSame(access: Access | undefined, section: Access): boolean {
  return (
    access?.state === section.state &&
    access.namespace === section.namespace &&
    access.requestId === section.requestId &&
    access.serviceAccount === section.serviceAccount &&
    access.error?.code === section.error?.code &&
    access.tokens?.key === section.tokens?.key &&
    isDeepStrictEqual(access.uids, section.uids)
  );
}

function wordsFor(
  { isMadeAgain, isWithdrawn }: { isMadeAgain: boolean; isWithdrawn: boolean },
  namespace: string,
): { reason: string; message: string } {
  if (isMadeAgain) {
    const message = `namespace "${namespace}", or the account in it, was gone from Kubernetes and was made again`;
    return { reason: 'MadeAgain', message };
  }
  const ready = `namespace "${namespace}" is ready`;
  if (!isWithdrawn) return { reason: 'Provisioned', message: ready };
  return { reason: 'AccessWithdrawn', message: `${ready}; the access that there was has ended` };
}

/** The event that tells what was done; none when the record says so already. */
export function accessEvents({ record, nowMs, result }: AccessContext): EventDraft[] {
  if (!result) return [];
  const { namespace } = result;
  const about = { namespace, atMs: nowMs, ...(result.requestId ? { requestId: result.requestId } : {}) };
  if (result.step === 'deprovision') {
    // Undoing what was never told is not told either.
    if (planAccess(record) !== 'deprovision') return [];
    const verdict = record.decision?.verdict;
    const { stays } = result;
    const namespaceStays = stays === undefined ? {} : { namespaceStays: stays };
    const section: Access = {
      state: 'deprovisioned',
      ...about,
      ...(verdict ? { verdict } : {}),
      ...namespaceStays,
    };
    const message = `the rights in namespace "${namespace}" were taken back${stays === undefined ? '' : `; it stays, ${stays}`}`;
    return [draft(deprovisioned, record, { by, reason: 'Deprovisioned', message, section })];
  }
  const { tokens, uids } = record.access ?? {};
  const withTokens = tokens === undefined || result.isWithdrawn ? {} : { tokens };
  if (result.failure) {
    const { code, message, reason } = result.failure;
    const kept = { ...withTokens, ...(uids === undefined || result.isWithdrawn ? {} : { uids }) };
    const section: Access = { state: 'failed', ...about, error: { code, message }, ...kept };
    if (saysTheSame(record.access, section)) return [];
    return [draft(provisioningFailed, record, { by, reason, message, section })];
  }
  const section: Access = {
    state: 'provisioned',
    ...about,
    ...(result.step === 'give-access' ? { serviceAccount: memberName, roleBinding: memberName } : {}),
    ...(result.uids ? { uids: result.uids } : {}),
    // A token ends with the account that it names by UID.
    ...(uids?.serviceAccount === result.uids?.serviceAccount ? withTokens : {}),
  };
  if (!result.isMadeAgain && saysTheSame(record.access, section)) return [];
  const { reason, message } = wordsFor(result, namespace);
  return [draft(provisioned, record, { by, reason, message, section })];
}
