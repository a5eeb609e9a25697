import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest } from '@rollcall/shared/resources';
import type { RequestRow } from '../../rows/index.ts';

type Request = StoredObject<ClusterRegistrationRequest & { metadata: object }>;

/** Decided of an earlier request: of this one the result would say it. */
function decidedBefore({ spec, status }: Request): Pick<RequestRow, 'decidedBefore'> {
  const { verdict, by, reason } = spec.decision ?? {};
  const isOpen = status?.result === undefined || status.result === 'Held' || status.result === 'Pending';
  if (verdict === undefined || !isOpen) return {};
  return {
    decidedBefore: {
      verdict,
      ...(by === undefined ? {} : { by }),
      ...(reason === undefined ? {} : { reason }),
    },
  };
}

/** A request in one row of the inbox. */
export function requestRow(request: Request): RequestRow {
  const { metadata, spec, status } = request;
  const { policy, rule, by } = status ?? {};
  const optional = {
    policy,
    rule,
    by,
    token: spec.token,
    knownKey: spec.knownKeyFingerprint,
    labels: spec.labels,
  };
  return {
    id: metadata.name,
    name: spec.clusterName,
    result: status?.result ?? 'Pending',
    reason: status?.reason ?? '',
    message: status?.message ?? '',
    key: spec.keyFingerprint,
    sinceMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    ...decidedBefore(request),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}
