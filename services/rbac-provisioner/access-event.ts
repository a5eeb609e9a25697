import {
  type Access,
  type ClusterRecord,
  deprovisioned,
  draft,
  type EventDraft,
  provisioned,
  provisioningFailed,
} from '@rollcall/shared/events';
import { accessStep } from './access-step.ts';
import { memberName } from './member-objects.ts';
import type { ProvisionFailure } from './provision.ts';

/** What was done in Kubernetes, and for which request. */
export type AccessResult = { readonly namespace: string; readonly requestId: string | undefined } & (
  | {
      readonly step: 'provision';
      readonly failure: ProvisionFailure | undefined;
      /** The ServiceAccount was made anew. */
      readonly tokensAreVoid: boolean;
    }
  | { readonly step: 'deprovision' }
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
    access.error?.code === section.error?.code &&
    access.tokens?.key === section.tokens?.key
  );
}

/** The event that tells what was done; none when the record says so already. */
export function accessEvents({ record, nowMs, result }: AccessContext): EventDraft[] {
  if (!result) return [];
  const { namespace } = result;
  const about = { namespace, atMs: nowMs, ...(result.requestId ? { requestId: result.requestId } : {}) };
  if (result.step === 'deprovision') {
    // Undoing what was never told is not told either.
    if (accessStep(record) !== 'deprovision') return [];
    const verdict = record.decision?.verdict;
    const section: Access = { state: 'deprovisioned', ...about, ...(verdict ? { verdict } : {}) };
    const message = `the rights in namespace "${namespace}" were taken back`;
    return [draft(deprovisioned, record, { by, reason: 'Deprovisioned', message, section })];
  }
  const { tokens } = record.access ?? {};
  const kept = tokens === undefined || result.tokensAreVoid ? {} : { tokens };
  if (result.failure) {
    const { code, message, reason } = result.failure;
    const section: Access = { state: 'failed', ...about, error: { code, message }, ...kept };
    if (saysTheSame(record.access, section)) return [];
    return [draft(provisioningFailed, record, { by, reason, message, section })];
  }
  const section: Access = {
    state: 'provisioned',
    ...about,
    serviceAccount: memberName,
    roleBinding: memberName,
    ...kept,
  };
  if (saysTheSame(record.access, section)) return [];
  const message = result.tokensAreVoid
    ? `namespace "${namespace}" is ready; the access tokens that there were have ended`
    : `namespace "${namespace}" is ready`;
  const reason = result.tokensAreVoid ? 'AccessWithdrawn' : 'Provisioned';
  return [draft(provisioned, record, { by, reason, message, section })];
}
