import type { ClusterEvent } from './workloads.ts';

/** What Kubernetes notes where a pod, or the volume that it claims, cannot be made; and where a pod that was made cannot have its volumes. */
const reasons = new Set(['FailedCreate', 'ProvisioningFailed', 'FailedBinding']);
const podReasons = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']);
const madeOf = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'PersistentVolumeClaim']);

const timeOf = ({ lastTimestamp, eventTime, metadata }: ClusterEvent): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';

/**
 * Why nothing is there that could say why it does not start, in the words of Kubernetes: the newest of each object.
 * @param name - of a Deployment or a StatefulSet; what it makes has this in its name
 * @param waitingPods - UIDs of those of its pods that say nothing themselves
 */
export function creationTroubles(
  name: string,
  events: readonly ClusterEvent[],
  waitingPods: ReadonlySet<string> = new Set(),
): string[] {
  const newest = new Map<string, ClusterEvent>();
  for (const event of events) {
    const { kind = '', name: of = '', uid = '' } = event.involvedObject;
    const isAbout = madeOf.has(kind) && new RegExp(`(^|-)${name}(-|$)`).test(of);
    const isOfPod = waitingPods.has(uid) && podReasons.has(event.reason ?? '');
    if (!isOfPod && !(isAbout && reasons.has(event.reason ?? ''))) continue;
    const before = newest.get(`${kind} ${of}`);
    if (before === undefined || timeOf(event) >= timeOf(before)) newest.set(`${kind} ${of}`, event);
  }
  return [...newest].map(([of, { reason, message = 'no reason given' }]) => `${of}: ${reason}: ${message}`);
}
