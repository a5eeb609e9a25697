import type { KubeClient, Resource } from '@rollcall/shared/kubernetes';
import type { Metrics } from '@rollcall/shared/service';

/** The same client, with the writes that the API server took counted. */
export function countWrites(kube: KubeClient, metrics: Metrics): KubeClient {
  async function counted<T>(
    { kind }: Resource,
    what: 'create' | 'shape' | 'delete',
    write: () => Promise<T>,
  ): Promise<T> {
    const startedMs = performance.now();
    try {
      const done = await write();
      metrics.count('rollcall_kubernetes_writes_total', { kind, what });
      return done;
    } finally {
      const seconds = (performance.now() - startedMs) / 1000;
      metrics.observe('rollcall_kubernetes_write_duration_seconds', seconds);
    }
  }
  return {
    ...kube,
    create: (resource, ...rest) => counted(resource, 'create', () => kube.create(resource, ...rest)),
    mergePatch: (resource, ...rest) => counted(resource, 'shape', () => kube.mergePatch(resource, ...rest)),
    delete: (resource, ...rest) => counted(resource, 'delete', () => kube.delete(resource, ...rest)),
  };
}
