import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import {
  createResourceFinder,
  isNotFound,
  type KubeClient,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { clusterManager } from '@rollcall/shared/resources';
import { printResult, say } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { countedObjects, type ObjectNote } from '../counted-objects.ts';
import { refuseForgottenPlace } from './hub-kubeconfigs.ts';
import { announces, hubNamespaces, hubObjects } from './hub-objects.ts';
import { type HubPlacesFlags, openHubPlaces } from './hub-places.ts';
import { hubValuesSchema } from './hub-values.ts';
import { tokenNamespacesThere } from './token-namespaces.ts';
import { findInstalled, refuseHelm } from '../find-installed.ts';
import { pods } from '../workloads.ts';

export interface UninstallHubFlags extends HubPlacesFlags {
  readonly withData?: boolean;
  readonly dryRun?: boolean;
}

const namespace = 'rollcall-system';
/** Whatever a hub can have. */
const valuesOfAll = hubValuesSchema.parse({
  attribution: true,
  hub: { servers: 3, websocket: true },
  nats: { ingress: { host: 'any' } },
  console: { host: 'any', tlsSecret: 'any', ingress: { enabled: true } },
  forward: { secret: 'any' },
});
/** A pod has 30 s to end, NATS 60. */
const stoppedWithinMs = 120_000;
const lookAgainMs = 500;
const isKind = ({ kind }: KubeObject) => kind === 'CustomResourceDefinition';
const { plural, group } = resources.managedClusters;
const isKindOfClusters = (object: KubeObject) =>
  isKind(object) && object.metadata.name === `${plural}.${group}`;
/** A kind of others, whose objects may be others' too. */
const isOthersKind = (object: KubeObject) => isKind(object) && !object.metadata.name?.endsWith(`.${group}`);
/** What people wrote, and what is theirs: kinds with all of their objects, and the namespace of their tokens. */
const isPeoples = (object: KubeObject) => isKind(object) || object.kind === 'Namespace';
const runs = ({ kind }: KubeObject) => kind === 'Deployment' || kind === 'StatefulSet';
const others = (object: KubeObject) => !runs(object) && !announces(object);

/** What runs goes first, then what it was allowed; the admission policies after those whom they kept in. */
function inOrder(objects: readonly KubeObject[]): KubeObject[] {
  return [...objects.filter(announces), ...objects.filter(runs), ...objects.filter(others).toReversed()];
}

/** Of a kind that is not there, none; whoever does not answer may have some. */
const ifThere = <Item>(listing: Promise<Item[]>): Promise<Item[]> =>
  listing.catch((error: unknown) => {
    if (isNotFound(error)) return [];
    throw error;
  });

async function sayWhatStays(client: KubeClient, withData: boolean): Promise<void> {
  const clusters = await ifThere(client.list(resources.managedClusters));
  if (clusters.length > 0) {
    const named = clusters
      .slice(0, 5)
      .map(({ metadata }) => metadata.name)
      .join(', ');
    say(
      `[uninstall] still registered here: ${clusters.length} (${named}${clusters.length > 5 ? ', …' : ''}); their agents go on asking for this hub until they are removed`,
    );
  }
  if (withData) return;
  say(
    'stays: the kinds and their objects, namespaces rollcall-join, rollcall-kubeconfigs and rollcall-agents, those of clusters',
  );
  say(
    `stays: namespace ${namespace} with the keys and what the hub has written; installed again, it goes on from there, by Helm with --take-ownership (--with-data removes all of that)`,
  );
}

/** @throws RollcallError DEADLINE_EXCEEDED naming what still runs */
async function untilStopped(client: KubeClient): Promise<void> {
  for (const deadlineMs = performance.now() + stoppedWithinMs; ; await delay(lookAgainMs)) {
    const left = await client.list(pods, { namespace, labelSelector: 'app.kubernetes.io/part-of=rollcall' });
    if (left.length === 0) return;
    if (performance.now() < deadlineMs) continue;
    const names = left.map(({ metadata }) => metadata.name).join(', ');
    throw new RollcallError('DEADLINE_EXCEEDED', `still running in namespace ${namespace}: ${names}`);
  }
}

/** Clusters wait for the hub before they go; there is none any more. */
async function letGo(client: KubeClient): Promise<void> {
  const clusters = await ifThere(client.list(resources.managedClusters));
  for (const { metadata } of clusters) {
    if (!metadata.finalizers?.length) continue;
    await client.mergePatch(resources.managedClusters, metadata.name, { metadata: { finalizers: null } });
  }
}

/** Their kind stays, and nobody is left who would take them away. */
async function removeProfiles(client: KubeClient): Promise<void> {
  const labelSelector = `${clusterManager.label}=${clusterManager.name}`;
  const ours = await ifThere(client.list(resources.clusterProfiles, { labelSelector }));
  for (const { metadata } of ours)
    await client.delete(resources.clusterProfiles, metadata.name, { namespace: metadata.namespace });
  if (ours.length > 0) say(`[uninstall] ClusterProfiles deleted: ${ours.length}`);
}

/** @returns how many objects went */
async function remove(
  client: KubeClient,
  all: readonly KubeObject[],
  { withData, dryRun }: { withData: boolean; dryRun: boolean },
): Promise<number> {
  const goes = inOrder(all.filter((object) => !isPeoples(object)));
  const data = withData ? all.filter((object) => isPeoples(object) && !isOthersKind(object)) : [];
  const resourceOf = createResourceFinder(client, undefined);
  const removed: ObjectNote[] = [];
  let isStopped = dryRun;
  for (const object of [...goes, ...data]) {
    // A service that still runs would make again what goes.
    if (others(object) && !isStopped) await untilStopped(client);
    isStopped ||= others(object);
    if (isKindOfClusters(object) && !dryRun) await letGo(client);
    const resource = await resourceOf(object);
    const where = resource.namespaced ? { namespace: object.metadata.namespace } : {};
    const wasThere = await client.delete(resource, object.metadata.name ?? '', { ...where, dryRun });
    if (!wasThere) continue;
    const { kind, metadata } = object;
    removed.push({ kind, name: metadata.name ?? '', outcome: dryRun ? 'would be deleted' : 'deleted' });
  }
  for (const line of countedObjects(removed)) say(`[uninstall] ${line}`);
  for (const { kind, metadata } of withData ? all.filter(isOthersKind) : [])
    say(`[uninstall] stays: ${kind} ${metadata.name}, which others may use`);
  return removed.length;
}

/**
 * Removes what runs of a hub, and its rights. What it knows stays unless told otherwise.
 * @throws RollcallError INSTALLED_BY_HELM, NAMESPACE_TERMINATING; what the API server refuses
 */
export async function uninstallHub(flags: UninstallHubFlags): Promise<void> {
  const { dryRun = false, withData = false } = flags;
  const places = openHubPlaces(flags);
  try {
    refuseHelm(await findInstalled(places.workloads, { name: 'rollcall-registrar', namespace }), namespace);
    await refuseForgottenPlace(places);
    await sayWhatStays(places.hub, withData);
    let removed = 0;
    // What runs goes before what it was allowed elsewhere.
    for (const { client, parts } of places.each.toReversed()) {
      const tokenNamespaces = parts.kubernetes ? await tokenNamespacesThere(client) : [];
      const objects = hubObjects({ ...valuesOfAll, parts, tokenNamespaces });
      const all = [...objects, ...hubNamespaces(parts)];
      removed += await withProgress('removing the hub', remove(client, all, { withData, dryRun }));
      if (withData && !dryRun && parts.kubernetes) await removeProfiles(client);
    }
    const done = dryRun ? 'the hub can be removed (dry run)' : 'the hub is removed';
    printResult(removed === 0 ? 'there is no hub to remove' : done);
  } finally {
    places.close();
  }
}
