import type { ClusterRecord } from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { type ClusterFacts, desiredCluster } from './desired-cluster.ts';
import { desiredRequest } from './desired-request.ts';
import { statusPatch } from './difference.ts';
import { factFields } from './shown-facts.ts';
import type { Wanted } from './wanted.ts';

/** How an object differs from what the projector would write now. */
export interface PictureDifference {
  readonly object: string;
  readonly what: 'missing' | 'not taken away' | 'status';
  /** Of the status. What a member reports is not among them: it may lag. */
  readonly fields: readonly string[];
}

function difference(
  object: string,
  wanted: Wanted<unknown, object>,
  current: StoredObject<ManagedCluster> | StoredObject<ClusterRegistrationRequest> | undefined,
): PictureDifference[] {
  if (wanted.presence === 'unmentioned') return [];
  if (wanted.presence === 'gone') {
    return current === undefined ? [] : [{ object, what: 'not taken away', fields: [] }];
  }
  if (current === undefined) return [{ object, what: 'missing', fields: [] }];
  const fields = (statusPatch(current.status, wanted.status)?.fields ?? []).filter(
    (field) => !(factFields as readonly string[]).includes(field),
  );
  return fields.length === 0 ? [] : [{ object, what: 'status', fields }];
}

/** Compares the two objects of a cluster with its record; nothing is written. For `rollcall verify`. */
export function pictureDifferences(
  record: ClusterRecord,
  facts: ClusterFacts | undefined,
  shown: {
    clusterNamed(name: string): StoredObject<ManagedCluster> | undefined;
    request: StoredObject<ClusterRegistrationRequest> | undefined;
  },
): readonly PictureDifference[] {
  const name = record.decision?.clusterName ?? record.identity?.clusterName ?? '';
  const found = shown.clusterNamed(name);
  // Another cluster may have the name by now.
  const cluster = found?.spec.clusterId === record.aggregate.id ? found : undefined;
  return [
    ...difference(`ManagedCluster/${name}`, desiredCluster(record, facts, cluster), cluster),
    ...difference(`ClusterRegistrationRequest/${record.aggregate.id}`, desiredRequest(record), shown.request),
  ];
}
