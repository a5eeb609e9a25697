import type { ClusterEvent } from './workloads.ts';

/** What Kubernetes notes where a pod, or the volume that it claims, cannot be made. */
const reasons = new Set(['FailedCreate', 'ProvisioningFailed', 'FailedBinding']);
const madeOf = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'PersistentVolumeClaim']);

const timeOf = ({ lastTimestamp, eventTime, metadata }: ClusterEvent): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';

/**
 * Why nothing is there that could say why it does not start, in the words of Kubernetes: the newest of each object.
 * @param name - of a Deployment or a StatefulSet; what it makes has this in its name
 */
export function creationTroubles(name: string, events: readonly ClusterEvent[]): string[] {
  const newest = new Map<string, ClusterEvent>();
  for (const event of events) {
    const { kind = '', name: of = '' } = event.involvedObject;
    const isAbout = madeOf.has(kind) && new RegExp(`(^|-)${name}(-|$)`).test(of);
    if (!isAbout || !reasons.has(event.reason ?? '')) continue;
    const before = newest.get(`${kind} ${of}`);
    if (before === undefined || timeOf(event) >= timeOf(before)) newest.set(`${kind} ${of}`, event);
  }
  return [...newest].map(([of, { reason, message = 'no reason given' }]) => `${of}: ${reason}: ${message}`);
}
