import { isAlreadyExists, type KubeClient, type KubeObject } from '@rollcall/shared/kubernetes';
import { persistentVolumeClaims, statefulSets } from '../workloads.ts';

type Servers = KubeObject<{
  replicas: number;
  selector: { matchLabels: Record<string, string> };
  volumeClaimTemplates?: readonly KubeObject[];
}>;

/** The claims that Kubernetes makes for the pods of a StatefulSet, by the names and labels that it gives them. */
export function volumeClaimsOf({ metadata, spec }: Servers): KubeObject[] {
  const { replicas = 0, selector, volumeClaimTemplates = [] } = spec ?? {};
  const ordinals = Array.from({ length: replicas }, (_, ordinal) => ordinal);
  return ordinals.flatMap((ordinal) =>
    volumeClaimTemplates.map((template) => ({
      ...template,
      apiVersion: 'v1',
      kind: persistentVolumeClaims.kind,
      metadata: {
        name: `${template.metadata.name}-${metadata.name}-${ordinal}`,
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
        ...(selector ? { labels: selector.matchLabels } : {}),
      },
    })),
  );
}

/**
 * Makes the claims of servers that are not there yet, so that they have their volumes when the pods are made. A kubelet that finds a
 * claim which is not bound yet looks again only 10 s later.
 * @throws KubeApiError
 */
export async function makeVolumeClaims(client: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  const all = objects.filter(({ kind }) => kind === statefulSets.kind) as Servers[];
  for (const servers of all) {
    const { name = '', namespace } = servers.metadata;
    if (await client.get(statefulSets, { name, namespace })) continue;
    for (const claim of volumeClaimsOf(servers))
      await client.create(persistentVolumeClaims, claim, { namespace }).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
  }
}
