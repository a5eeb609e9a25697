import { isSafeId } from '@rollcall/shared/events';
import type { Refusal } from './refusal.ts';

const alwaysReserved = /^(kube|rollcall)-/;

/** Whether a cluster may be called that: it becomes an object, a namespace and a subject (surfaces: "Names of things"). */
export function refuseName(name: string, reservedNames: readonly string[]): Refusal | undefined {
  const shown = name.slice(0, 80);
  if (!isSafeId(name)) {
    return { code: 'CLUSTER_NAME_INVALID', message: `"${shown}" is no valid cluster name` };
  }
  if (alwaysReserved.test(name) || reservedNames.includes(name)) {
    return { code: 'CLUSTER_NAME_RESERVED', message: `the name "${shown}" is reserved on this hub` };
  }
  return undefined;
}
