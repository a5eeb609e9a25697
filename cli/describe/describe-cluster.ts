import { type Facts, openFactStore } from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { clusterIdOf, type StoredEvent } from '@rollcall/shared/events';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { type DocumentFormat, documentText } from '../document-text.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { sayLost } from '../events/say-lost.ts';
import { clusterIdOfTarget } from '../events/cluster-names.ts';
import { type OpenBus, openBus, sayLeftOut } from '../events/open-bus.ts';
import { resourceOfName } from '../get/kind-names.ts';
import { openHub } from '../hub-access.ts';
import { printResult } from '../output.ts';
import { withProgress } from '../progress.ts';
import { clusterOfName, requestOfName } from '../request-of-name.ts';
import { type ClusterSources, describeSources } from './cluster-description.ts';
import { descriptionText } from './description-text.ts';

export interface DescribeFlags extends BusFlags {
  readonly output: 'text' | DocumentFormat;
  readonly all?: boolean;
}

interface Pictures {
  readonly cluster: ManagedCluster | undefined;
  readonly request: ClusterRegistrationRequest | undefined;
  readonly attempts: readonly ClusterRegistrationRequest[];
}

/** What the API server shows under this name or id. */
async function readPictures(client: KubeClient, target: string): Promise<Pictures> {
  const get = <Kind extends ManagedCluster | ClusterRegistrationRequest>(
    resource: (typeof resources)['managedClusters' | 'clusterRegistrationRequests'],
    name: string | undefined,
  ) => (name === undefined ? undefined : client.get<Kind & { metadata: object }>(resource, { name }));
  const { cluster: byName, id } = await clusterOfName(client, target);
  const request =
    (await get<ClusterRegistrationRequest>(resources.clusterRegistrationRequests, id ?? target)) ??
    (byName ? undefined : requestOfName(await allRequests(client), target));
  const cluster =
    byName ?? (await get<ManagedCluster>(resources.managedClusters, request?.spec?.clusterName));
  // Another cluster may have the name that this one only asks for.
  const isOther = !byName && cluster?.spec?.clusterId !== request?.spec?.clusterId;
  const isUnclaimed = byName !== undefined && !byName.status?.keyFingerprint;
  // Only then: a list of all requests is much to read.
  const attempts = isUnclaimed ? await refusedFor(client, target, id ?? '') : [];
  return { cluster: isOther ? undefined : cluster, request, attempts };
}

/** Requests of others for a name, that the hub refused. */
async function refusedFor(
  client: KubeClient,
  clusterName: string,
  ownId: string,
): Promise<ClusterRegistrationRequest[]> {
  return (await allRequests(client)).filter(
    ({ metadata, spec, status }) =>
      spec?.clusterName === clusterName && metadata.name !== ownId && status?.result === 'Failed',
  );
}

function allRequests(client: KubeClient) {
  return client.list<ClusterRegistrationRequest & { metadata: object }>(
    resources.clusterRegistrationRequests,
  );
}

async function readEvents({ log }: OpenBus, clusterId: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of log.scan({ filter: `cluster.${clusterId}.*`, onSkip: sayLeftOut }))
    events.push(event);
  return events;
}

/** Tries one side; what is in its way is told, and the other side is shown all the same. */
async function attempt<Result>(
  work: () => Promise<Result>,
): Promise<{ value?: Result; error?: RollcallError }> {
  try {
    return { value: await work() };
  } catch (thrown) {
    const error = toRollcallError(thrown);
    if (error.code === 'USAGE' || error.code === 'UNEXPECTED') throw thrown;
    return { error };
  }
}

function idOf({ cluster, request }: Pictures): string | undefined {
  const { clusterId, clientId } = cluster?.spec ?? {};
  return (
    request?.spec?.clusterId ?? clusterId ?? (clientId === undefined ? undefined : clusterIdOf(clientId))
  );
}

async function gather(target: string, flags: DescribeFlags): Promise<ClusterSources> {
  let client: KubeClient | undefined;
  let bus: OpenBus | undefined;
  try {
    const [pictures, opened] = await Promise.all([
      // Who has a context of the bus alone sees the history.
      attempt(async () => readPictures((client = openHub(flags)), target)),
      attempt(() => openBus(flags)),
    ]);
    bus = opened.value;
    if (bus) await sayLost(bus.nc);
    const found = pictures.value ?? { cluster: undefined, request: undefined, attempts: [] };
    const fromHistory =
      bus && idOf(found) === undefined ? await attempt(() => clusterIdOfTarget(bus!.log, target)) : {};
    const clusterId = idOf(found) ?? fromHistory.value;
    if (clusterId === undefined) {
      // The side that is away could know it, so nobody may say that there is none.
      throw (
        pictures.error ??
        opened.error ??
        new RollcallError('NOT_FOUND', `no cluster and no request has the id or the name "${target}"`)
      );
    }
    const missing: { source: 'kubernetes' | 'history'; why: string }[] = [];
    if (pictures.error) missing.push({ source: 'kubernetes', why: pictures.error.message });
    if (opened.error) missing.push({ source: 'history', why: opened.error.message });
    const events = bus ? await readEvents(bus, clusterId) : [];
    const facts: Facts | undefined = bus ? (await openFactStore(bus.nc).get(clusterId))?.facts : undefined;
    return { clusterId, ...found, events, facts, missing };
  } finally {
    client?.close();
    await bus?.nc.close();
  }
}

/**
 * `rollcall describe KIND NAME`: who a cluster is, who let it in and why, whether it is alive, and what to do. A request that
 * is no cluster yet is described as well.
 * @throws RollcallError USAGE, NOT_FOUND; KUBE_UNREACHABLE or BUS_UNREACHABLE where the side that is away could know it
 */
export async function describeCluster(kind: string, target: string, flags: DescribeFlags): Promise<void> {
  const { kind: name } = resourceOfName(kind);
  if (name !== 'ManagedCluster' && name !== 'ClusterRegistrationRequest') {
    throw new RollcallError(
      'USAGE',
      `only clusters and requests are described, not "${kind}"; see \`rollcall get ${kind} -o yaml\``,
    );
  }
  const description = describeSources(await withProgress('reading the hub', gather(target, flags)));
  const { output, all = false } = flags;
  printResult(output === 'text' ? descriptionText(description, { all }) : documentText(description, output));
}
