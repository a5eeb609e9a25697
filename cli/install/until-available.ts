import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, Resource, StoredObject } from '@rollcall/shared/kubernetes';
import { say } from '../terminal/output.ts';
import { waitForObject } from '../wait-for-object.ts';
import { creationTroubles } from './creation-trouble.ts';
import { isBeingMade, podTrouble } from './pod-trouble.ts';
import { type ClusterEvent, type Deployment, events, type Pod, pods } from './workloads.ts';

const lookAtPodsMs = 2000;

/** A Deployment or a StatefulSet. */
interface Workload {
  readonly resource: Resource;
  readonly name: string;
  readonly namespace: string;
}

/** As `kubectl rollout status` sees it: the newest version runs, and nothing of an older one. */
export function isAvailable({ metadata, spec, status = {} }: StoredObject<Deployment>): boolean {
  const wanted = spec?.replicas ?? 1;
  const isSeen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const counts = [status.updatedReplicas, status.availableReplicas, status.replicas];
  return isSeen && counts.every((count) => (count ?? 0) === wanted);
}

function selectorOf({ spec }: Deployment): string {
  return Object.entries(spec?.selector.matchLabels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

const eventsIn = (client: KubeClient, namespace: string): Promise<readonly ClusterEvent[]> =>
  client.list<ClusterEvent>(events, { namespace }).catch(() => []);
/** Of an event that comes again it is another one. */
const versionOf = ({ metadata }: ClusterEvent) => `${metadata.uid} ${metadata.resourceVersion}`;

/**
 * Why a workload does not run, in the words of Kubernetes; empty while nothing is in its way.
 * @param past - events of before, which say nothing of now
 */
export async function workloadTroubles(
  client: KubeClient,
  where: Workload,
  past: ReadonlySet<string> = new Set(),
): Promise<readonly string[]> {
  const deployment = await client.get<Deployment>(where.resource, where);
  if (!deployment) return [];
  const { namespace } = where;
  const found = await client.list<Pod>(pods, { namespace, labelSelector: selectorOf(deployment) });
  const ofPods = found.flatMap((pod) => {
    const trouble = podTrouble(pod);
    return trouble === undefined ? [] : [`pod ${pod.metadata.name}: ${trouble}`];
  });
  const beingMade = new Set(found.filter(isBeingMade).map(({ metadata }) => metadata.uid));
  const isMissing = found.length < (deployment.spec?.replicas ?? 1) || beingMade.size > 0;
  if (!isMissing && !ofPods.some((trouble) => trouble.includes('not scheduled'))) return ofPods;
  // What is said of an hour ago is there as well, and counts only while something is missing.
  const noted = await eventsIn(client, namespace);
  const now = noted.filter((event) => !past.has(versionOf(event)));
  return [...ofPods, ...creationTroubles(where.name, now, beingMade)];
}

/** Says each trouble once, until it is told to stop; whoever may not see pods learns nothing of them. */
async function tellTroubles(
  client: KubeClient,
  where: Workload,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const past = new Set((await eventsIn(client, where.namespace)).map(versionOf));
  const said = new Set<string>();
  let last: readonly string[] = [];
  while (!signal.aborted) {
    await delay(lookAtPodsMs, undefined, { signal }).catch(() => undefined);
    last = await workloadTroubles(client, where, past).catch(() => last);
    for (const trouble of last) {
      if (!said.has(trouble)) say(`[ready] ${trouble}`);
      said.add(trouble);
    }
  }
  return last;
}

/**
 * Waits until a Deployment, or a StatefulSet, runs as it should; meanwhile says which of its pods do not start or cannot be made, and why.
 * @throws RollcallError DEADLINE_EXCEEDED with what was last in the way
 */
export async function untilAvailable(client: KubeClient, where: Workload, timeoutMs: number): Promise<void> {
  const telling = new AbortController();
  const told = tellTroubles(client, where, telling.signal);
  const wait = { ...where, timeoutMs };
  const found = await waitForObject<Deployment>(client, wait, isAvailable).finally(() => telling.abort());
  const last = await told;
  if (found) return;
  const why = last.length === 0 ? 'none of its pods says why' : last.join('; ');
  const { resource, namespace, name } = where;
  const more = `\`kubectl --namespace ${namespace} describe ${resource.plural} ${name}\` says more; once it is mended, run the same command again`;
  throw new RollcallError(
    'DEADLINE_EXCEEDED',
    `${resource.kind} ${namespace}/${name} does not run after ${Math.round(timeoutMs / 1000)} s: ${why}; ${more}`,
  );
}
