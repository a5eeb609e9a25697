import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';

type Deployment = KubeObject<
  unknown,
  {
    availableReplicas?: number;
    conditions?: readonly { type: string; status: string; lastTransitionTime?: string }[];
  }
>;

const heartbeat = { name: 'rollcall-heartbeat', namespace: 'rollcall-system' } as const;
/** Nobody waits for this longer than for the clusters. */
const askedWithinMs = 2000;

/** That no replica of the heartbeat service runs, which what clusters show cannot say; undefined: one does. */
export function heartbeatsUnheard({ status }: Pick<Deployment, 'status'>): string | undefined {
  if ((status?.availableReplicas ?? 0) > 0) return undefined;
  const available = status?.conditions?.find(({ type }) => type === 'Available');
  const since = available?.status === 'False' ? available.lastTransitionTime : undefined;
  return `nobody hears heartbeats${since === undefined ? '' : ` since ${since}`} (no pod of Deployment ${heartbeat.name} is available): Ready is what was heard last`;
}

/** Of a hub whose services are pods of the same cluster, for who may look at them; else nothing. */
export async function readHeartbeatsUnheard(client: KubeClient): Promise<string | undefined> {
  const signal = AbortSignal.timeout(askedWithinMs);
  const found = await client
    .get<Deployment>(resources.deployments, { ...heartbeat, signal })
    .catch(() => undefined);
  return found && heartbeatsUnheard(found);
}
