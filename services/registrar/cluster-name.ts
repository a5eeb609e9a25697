import { isSafeId } from '@rollcall/shared/events';
import type { Refusal } from './refusal.ts';

const alwaysReserved = /^(kube|rollcall)-/;

/** Whether a name can be used at all: it becomes an object, a namespace and a subject (surfaces: "Names of things"). */
export function refuseUnsafeName(name: string): Refusal | undefined {
  if (isSafeId(name)) return undefined;
  return { code: 'CLUSTER_NAME_INVALID', message: `"${name.slice(0, 80)}" is no valid cluster name` };
}

/** Whether a cluster may be called that on this hub. */
export function refuseName(name: string, reservedNames: readonly string[]): Refusal | undefined {
  const unsafe = refuseUnsafeName(name);
  if (unsafe) return unsafe;
  if (alwaysReserved.test(name) || reservedNames.includes(name)) {
    return { code: 'CLUSTER_NAME_RESERVED', message: `the name "${name}" is reserved on this hub` };
  }
  return undefined;
}
