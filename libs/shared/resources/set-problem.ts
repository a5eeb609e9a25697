import type { ManagedClusterSet } from './managed-cluster-set.ts';

/**
 * Why no cluster can be put into the set of that name, or undefined. The event, the conditions of a token and of a
 * cluster, and the command line say it in these words.
 * @param set - of that name; undefined: there is none
 */
export function setProblem(
  name: string,
  set: Pick<ManagedClusterSet, 'spec'> | undefined,
): string | undefined {
  if (!set) return `there is no set "${name}"; make a ManagedClusterSet of that name, or name another one`;
  if (set.spec.selector.type === 'ExclusiveLabel') return undefined;
  return `set "${name}" selects clusters by their labels, so none can be put into it; name a set of type ExclusiveLabel`;
}
