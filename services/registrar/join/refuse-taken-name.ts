import { isSafeId, type NameRecord, nameReserved } from '@rollcall/shared/events';
import { cutText } from '@rollcall/shared/text';
import type { Refusal } from '../replies/refusal.ts';

const alwaysReserved = /^(kube|rollcall)-/;

/** Whether a name can be used at all: it becomes an object, a namespace and a subject (surfaces: "Names of things"). */
export function refuseUnsafeName(name: string): Refusal | undefined {
  if (isSafeId(name)) return undefined;
  return { code: 'CLUSTER_NAME_INVALID', message: `"${cutText(name, 80)}" is no valid cluster name` };
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

/** Whether another cluster has the name. Who declares a cluster and registers it without its client id is another one, and hears why. */
export function refuseTakenName(
  { aggregate, holder, newest }: NameRecord,
  clusterId: string,
): Refusal | undefined {
  if (holder === undefined || holder === clusterId) return undefined;
  const message =
    newest?.definition === nameReserved
      ? `the name "${aggregate.id}" is reserved for a predefined cluster: if this is the one, register it with the clientId of that ManagedCluster (--client-id)`
      : `the name "${aggregate.id}" belongs to another cluster`;
  return { code: 'NAME_TAKEN', message };
}
