import { toRollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources, type StoredObject, watchResource } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import type { MemberView } from './judge-request.ts';

type Kept = StoredObject & { readonly view: MemberView | undefined };

/** Accepted is in the status, which the projector alone writes: an object that a person made up with the id of another cluster has none. */
function viewOf({ metadata, spec, status }: ManagedCluster): MemberView | undefined {
  const { name = '' } = metadata;
  if (spec?.clusterId === undefined) return undefined;
  const accepted = status?.conditions?.find(({ type }) => type === 'Accepted');
  return {
    name,
    clusterId: spec.clusterId,
    isAccepted: accepted?.status === 'True' && metadata.deletionTimestamp === undefined,
    liveness: status?.liveness,
    lastSeen: status?.lastSeen,
    access: status?.memberAccess,
    isDenied: spec.memberAccess === 'Denied',
    agentVersion: status?.agentVersion,
  };
}

export interface Members {
  of(name: string): MemberView | undefined;
  /** Why nothing is known yet; undefined once all are. */
  missing(): string | undefined;
  stop(): Promise<void>;
}

/** Knows the members as Kubernetes shows them, of each what says who gets there. */
export function followMembers(
  client: KubeClient,
  { logger, changed }: { logger: Logger; changed(before: MemberView, now: MemberView | undefined): void },
): Members {
  const views = new Map<string, MemberView>();
  const ending = new AbortController();
  let isSynced = false;
  function set(name: string, view: MemberView | undefined): void {
    const before = views.get(name);
    if (view) views.set(name, view);
    else views.delete(name);
    if (before) changed(before, view);
  }
  const watching = watchResource<Kept>(client, resources.managedClusters, {
    signal: ending.signal,
    keep: (object) => {
      const { apiVersion, kind, metadata } = object;
      const { name, uid, resourceVersion } = metadata;
      const kept = { apiVersion, kind, metadata: { name, uid, resourceVersion } };
      return { ...kept, view: viewOf(object as unknown as ManagedCluster) } as Kept;
    },
    onEvent: ({ kind, object }) => set(object.metadata.name, kind === 'deleted' ? undefined : object.view),
    onSynced: () => void (isSynced = true),
    onError: (error) =>
      logger.warn({ err: toRollcallError(error), object: 'managedclusters' }, 'watch was interrupted'),
  });
  return {
    of: (name) => views.get(name),
    missing: () => (isSynced ? undefined : 'the clusters of the hub are not known yet'),
    async stop() {
      ending.abort();
      await watching;
    },
  };
}
