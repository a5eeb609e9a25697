import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { type Pod, pods } from '../../install/workloads.ts';

const namespace = 'rollcall-system';
/** A pod has half a minute to end, and its node may be slow. */
const goneWithinMs = 180_000;
const lookEveryMs = 500;

/**
 * Takes their identities from the services of a hub in a cluster, and ends their pods: those that come in their place wait for the
 * Secrets, whoever has them made.
 * @throws RollcallError DEADLINE_EXCEEDED where a pod does not end; KubeApiError
 */
export async function takeIdentities(workloads: KubeClient, services: readonly string[]): Promise<void> {
  for (const service of services)
    await workloads.delete(resources.secrets, `rollcall-identity-${service}`, { namespace });
  const names = new Set(services.map((service) => `rollcall-${service}`));
  const labelSelector = 'app.kubernetes.io/part-of=rollcall';
  const ofServices = async () =>
    (await workloads.list<Pod>(pods, { namespace, labelSelector })).filter(({ metadata: { labels } }) =>
      names.has(labels?.['app.kubernetes.io/name'] ?? ''),
    );
  // One that is pending may have its files already.
  const former = new Set((await ofServices()).map(({ metadata: { uid } }) => uid));
  const told = new Set<string>();
  for (const deadlineMs = performance.now() + goneWithinMs; ; await delay(lookEveryMs)) {
    const left = (await ofServices()).filter(
      ({ metadata, status }) => former.has(metadata.uid) || status?.phase !== 'Pending',
    );
    if (left.length === 0) return;
    if (performance.now() > deadlineMs) {
      const which = left.map(({ metadata }) => metadata.name).join(', ');
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `pods of services do not end: ${which}; run the same command again`,
      );
    }
    for (const { metadata } of left) {
      if (told.has(metadata.uid)) continue;
      await workloads.delete(pods, metadata.name, { namespace });
      told.add(metadata.uid);
    }
  }
}
