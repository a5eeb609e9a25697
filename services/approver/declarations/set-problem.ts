import type { ManagedClusterSet } from '@rollcall/shared/resources';

/**
 * Why no cluster can be put into the set of that name, or undefined. The event, the condition of a token and the command line say it
 * in these words.
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
