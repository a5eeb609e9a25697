import {
  type AggregateRecord,
  type ClusterRecord,
  policyDeclaration,
  setDeclaration,
  type TokenRecord,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type {
  ApprovalPolicy,
  ClusterRegistrationRequest,
  ClusterRegistrationToken,
  ManagedCluster,
  ManagedClusterSet,
} from '@rollcall/shared/resources';
import { type ClusterFacts, desiredCluster } from './desired-cluster.ts';
import { desiredPolicy, isPolicyJudged } from './desired-policy.ts';
import { desiredRequest } from './desired-request.ts';
import { desiredToken, tokenUseFields } from './desired-token.ts';
import { statusPatch } from './difference.ts';
import { judgeVisibility } from './visibility.ts';
import { factFields } from './shown-facts.ts';
import type { Wanted } from './object-presence.ts';

/** How an object differs from what the projector would write now. */
export interface ProjectionDifference {
  readonly object: string;
  readonly what: 'missing' | 'not taken away' | 'status';
  /** Of the status. What a member reports is not among them: it may lag. */
  readonly fields: readonly string[];
}

function difference(
  object: string,
  wanted: Wanted<unknown, object>,
  current: StoredObject<ManagedCluster> | StoredObject<ClusterRegistrationRequest> | undefined,
): ProjectionDifference[] {
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
export function projectionDifferences(
  record: ClusterRecord,
  facts: ClusterFacts | undefined,
  shown: {
    clusterNamed(name: string): StoredObject<ManagedCluster> | undefined;
    request: StoredObject<ClusterRegistrationRequest> | undefined;
    /** Whether the projector shows only exceptions: then a projection that nobody needs may be there or not. */
    isExceptionsOnly: boolean;
  },
): readonly ProjectionDifference[] {
  const name = record.decision?.clusterName ?? record.identity?.clusterName ?? '';
  const found = shown.clusterNamed(name);
  // Another cluster may have the name by now.
  const cluster = found?.spec.clusterId === record.aggregate.id ? found : undefined;
  const atTheEnd = { nowMs: Number.POSITIVE_INFINITY, calmForMs: 0 };
  if (shown.isExceptionsOnly && judgeVisibility(record, facts, cluster, atTheEnd) === 'unneeded') return [];
  return [
    ...difference(`ManagedCluster/${name}`, desiredCluster(record, facts, cluster), cluster),
    ...difference(`ClusterRegistrationRequest/${record.aggregate.id}`, desiredRequest(record), shown.request),
  ];
}

/** How an object that a person wrote differs from what the events say of it. */
export interface DeclarationDifference {
  readonly object: string;
  readonly what: 'not declared' | 'status';
  readonly fields: readonly string[];
}

function statusDifference(
  object: string,
  current: object | undefined,
  wanted: object,
  maySkip: readonly string[] = [],
): DeclarationDifference[] {
  const fields = (statusPatch(current, wanted)?.fields ?? []).filter((field) => !maySkip.includes(field));
  return fields.length === 0 ? [] : [{ object, what: 'status', fields }];
}

const undeclared = (object: string): DeclarationDifference[] => [
  { object, what: 'not declared', fields: [] },
];

/** @param record - of its key, where there is one; uses are not compared, they may lag */
export function tokenDifferences(
  record: TokenRecord,
  current: StoredObject<ClusterRegistrationToken>,
  nowMs: number,
): readonly DeclarationDifference[] {
  const object = `ClusterRegistrationToken/${current.metadata.namespace}/${current.metadata.name}`;
  const { declaration } = record;
  if (!declaration) return undeclared(object);
  const wanted = desiredToken(record, current, nowMs);
  // Another object with the same key is the one that counts.
  return wanted ? statusDifference(object, current.status, wanted, tokenUseFields) : [];
}

export function policyDifferences(
  record: AggregateRecord,
  current: StoredObject<ApprovalPolicy>,
  nowMs: number,
): readonly DeclarationDifference[] {
  const object = `ApprovalPolicy/${current.metadata.name}`;
  if (!policyDeclaration(record) || !isPolicyJudged(record, current)) return undeclared(object);
  return statusDifference(object, current.status, desiredPolicy(record, current, nowMs));
}

/** Of a set, how many clusters it has is counted in Kubernetes; the events know that there is one, and of which kind. */
export function setDifferences(
  record: AggregateRecord,
  current: StoredObject<ManagedClusterSet>,
): readonly DeclarationDifference[] {
  const { name, uid, generation = 1 } = current.metadata;
  const declared = setDeclaration(record);
  const isDeclared = declared?.uid === uid && declared.generation === generation && !declared.withdrawn;
  return isDeclared ? [] : undeclared(`ManagedClusterSet/${name}`);
}
