import { labels, type ManagedClusterSet } from '@rollcall/shared/resources';
import { conditionList, type Judged } from './condition-list.ts';

export type SetStatus = NonNullable<ManagedClusterSet['status']>;
type Selector = ManagedClusterSet['spec']['selector'];
type Requirement = NonNullable<NonNullable<Selector['labelSelector']>['matchExpressions']>[number];
type Labels = Readonly<Record<string, string>>;

function meets(labelsOfCluster: Labels, { key, operator, values = [] }: Requirement): boolean {
  const value = Object.hasOwn(labelsOfCluster, key) ? labelsOfCluster[key] : undefined;
  switch (operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
  }
}

/** Whoever was put into no other set is in this one: no label is written for that. */
export const setOfOthers = 'default';

/** Whether a cluster with these labels is in the set. An empty labelSelector selects every cluster. */
export function isInSet(setName: string, selector: Selector, labelsOfCluster: Labels): boolean {
  if (selector.type === 'ExclusiveLabel')
    return (labelsOfCluster[labels.clusterSet] || setOfOthers) === setName;
  const { matchLabels = {}, matchExpressions = [] } = selector.labelSelector ?? {};
  return (
    Object.entries(matchLabels).every(([key, value]) => labelsOfCluster[key] === value) &&
    matchExpressions.every((requirement) => meets(labelsOfCluster, requirement))
  );
}

function emptiness(
  { metadata: { name }, spec: { selector } }: ManagedClusterSet,
  clusters: number,
  isExceptionsOnly: boolean,
): Pick<Judged, 'status' | 'reason' | 'message'> {
  if (clusters > 0) {
    // The admission policies refuse to delete it in the same words (deploy/admission/sets.yaml).
    const kept = `set "${name}" has clusters in it; it can be deleted once they are in another one`;
    const message = selector.type === 'ExclusiveLabel' ? kept : '';
    return { status: 'False', reason: 'HasClusters', message };
  }
  if (!isExceptionsOnly) return { status: 'True', reason: 'NoClusters', message: '' };
  const message = 'only clusters that are shown are counted, and those that are well are not shown';
  return { status: 'Unknown', reason: 'ExceptionsOnly', message };
}

/**
 * @param isExceptionsOnly - whether there may be clusters that are not shown, and so not counted
 * @param nowMs - hub time; membership is counted, no event tells when it changed
 */
export function desiredSet(
  current: ManagedClusterSet,
  fleet: { shown: Iterable<Labels>; isExceptionsOnly: boolean },
  nowMs: number,
): SetStatus {
  const { name } = current.metadata;
  let clusters = 0;
  for (const one of fleet.shown) if (isInSet(name, current.spec.selector, one)) clusters++;
  const judged = {
    type: 'Empty',
    ...emptiness(current, clusters, fleet.isExceptionsOnly),
    atMs: nowMs,
  } as const;
  return {
    conditions: conditionList([judged], current.status?.conditions ?? [], current.metadata.generation),
    clusters,
  };
}
