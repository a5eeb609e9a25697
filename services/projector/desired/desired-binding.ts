import type { ManagedClusterSet, ManagedClusterSetBinding } from '@rollcall/shared/resources';
import { conditionList, type Judged } from './condition-list.ts';

type BindingStatus = NonNullable<ManagedClusterSetBinding['status']>;

function boundness(
  { spec: { clusterSet } }: ManagedClusterSetBinding,
  set: ManagedClusterSet | undefined,
  isExceptionsOnly: boolean,
): Pick<Judged, 'status' | 'reason' | 'message'> {
  if (isExceptionsOnly) {
    const message = 'this hub shows only clusters that are not well, so none has a ClusterProfile';
    return { status: 'False', reason: 'ExceptionsOnly', message };
  }
  if (set) return { status: 'True', reason: 'Bound', message: '' };
  return { status: 'False', reason: 'SetMissing', message: `there is no ManagedClusterSet "${clusterSet}"` };
}

/** @param fleet.set - the set of that name; undefined: there is none */
export function desiredBinding(
  current: ManagedClusterSetBinding,
  fleet: { readonly set: ManagedClusterSet | undefined; readonly isExceptionsOnly: boolean },
  nowMs: number,
): BindingStatus {
  const judged = {
    type: 'Bound',
    ...boundness(current, fleet.set, fleet.isExceptionsOnly),
    atMs: nowMs,
  } as const;
  return {
    conditions: conditionList([judged], current.status?.conditions ?? [], current.metadata.generation),
  };
}
