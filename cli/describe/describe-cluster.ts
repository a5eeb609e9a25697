import { type Facts, openFactStore } from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { clusterIdOf, type StoredEvent } from '@rollcall/shared/events';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { clusterIdOfTarget, holderOfName } from '../events/cluster-names.ts';
import { sayLost } from '../events/say-lost.ts';
import { type OpenBus, openBus, sayLeftOut } from '../events/open-bus.ts';
import { momentOf } from '../get/get-past.ts';
import { resourceOfName } from '../get/kind-names.ts';
import { openHub } from '../hub-access.ts';
import { printResult } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { clusterOfName, requestOfWord } from '../request-of-name.ts';
import { type ClusterSources, describeSources } from './cluster-description.ts';
import { descriptionText } from './description-text.ts';

export interface DescribeFlags extends BusFlags {
  readonly output: 'text' | DocumentFormat;
  readonly all?: boolean;
  /** The target is an id, whatever has it as a name. */
  readonly id?: boolean;
  /** As the history says that it was then. */
  readonly at?: string;
}

interface Projections {
  readonly cluster: ManagedCluster | undefined;
  readonly request: ClusterRegistrationRequest | undefined;
  readonly attempts: readonly ClusterRegistrationRequest[];
}
const nothing: Projections = { cluster: undefined, request: undefined, attempts: [] };

/** What the API server shows under this word. */
async function readProjections(client: KubeClient, kind: string, target: string): Promise<Projections> {
  const { cluster, id } = await clusterOfName(client, target);
  if (!cluster) {
    const request = requestOfWord(
      await allRequests(client),
      target,
      ['rollcall', 'describe', kind].join(' '),
    );
    return request ? withCluster(client, request) : nothing;
  }
  const request = id === undefined ? undefined : await requestOfId(client, id);
  const isUnbound = !cluster.status?.keyFingerprint;
  // Only then: a list of all requests is much to read.
  const attempts = isUnbound ? await refusedFor(client, target, id ?? '') : [];
  return { cluster, request, attempts };
}

/** What the API server shows of the cluster with this id. */
async function readProjectionsOfId(client: KubeClient, id: string): Promise<Projections> {
  const request = await requestOfId(client, id);
  return request ? withCluster(client, request) : nothing;
}

function requestOfId(client: KubeClient, name: string) {
  const { clusterRegistrationRequests: resource } = resources;
  return client.get<ClusterRegistrationRequest & { metadata: object }>(resource, { name });
}

async function withCluster(client: KubeClient, request: ClusterRegistrationRequest): Promise<Projections> {
  const { cluster } = await clusterOfName(client, request.spec.clusterName);
  // Another cluster may have the name that this one only asks for.
  const isOther = cluster?.spec?.clusterId !== request.spec.clusterId;
  return { cluster: isOther ? undefined : cluster, request, attempts: [] };
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

function idOf({ cluster, request }: Projections): string | undefined {
  const { clusterId, clientId } = cluster?.spec ?? {};
  return (
    request?.spec?.clusterId ?? clusterId ?? (clientId === undefined ? undefined : clusterIdOf(clientId))
  );
}

/**
 * Reads both sides of a hub about one cluster.
 * @throws RollcallError USAGE, NOT_FOUND; KUBE_UNREACHABLE or BUS_UNREACHABLE where the side that is away could know it
 */
export async function gatherSources(
  kind: string,
  target: string,
  flags: BusFlags & { readonly id?: boolean },
): Promise<ClusterSources> {
  let client: KubeClient | undefined;
  let bus: OpenBus | undefined;
  const { id: isId = false } = flags;
  const read = (hub: KubeClient) =>
    isId ? readProjectionsOfId(hub, target) : readProjections(hub, kind, target);
  try {
    const [projections, opened] = await Promise.all([
      // Who has a context of the bus alone sees the history.
      attempt(async () => read((client = openHub(flags)))),
      attempt(() => openBus(flags)),
    ]);
    bus = opened.value;
    if (bus) await sayLost(bus.nc);
    let found = projections.value ?? nothing;
    // Who has a name stands there also where it is not shown: then a word is not the id of another one.
    const isNamed = isId || found.cluster?.metadata.name === target;
    const holder = bus && !isNamed ? await attempt(() => holderOfName(bus!.log, target)) : {};
    if (client && projections.value && holder.value !== undefined && holder.value !== idOf(found))
      found = await readProjectionsOfId(client, holder.value);
    const known = holder.value ?? idOf(found);
    const fromHistory =
      bus && known === undefined ? await attempt(() => clusterIdOfTarget(bus!.log, target, { isId })) : {};
    const clusterId = known ?? fromHistory.value;
    if (clusterId === undefined) {
      // The side that is away could know it, so nobody may say that there is none.
      throw (
        projections.error ??
        opened.error ??
        new RollcallError('NOT_FOUND', `no cluster and no request has the id or the name "${target}"`)
      );
    }
    const missing: { source: 'kubernetes' | 'history'; why: string }[] = [];
    if (projections.error) missing.push({ source: 'kubernetes', why: projections.error.message });
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
 * What its events up to that moment say; Kubernetes and facts are only as they are now.
 * @throws RollcallError NOT_FOUND, BUS_UNREACHABLE where the history cannot be read
 */
export function sourcesAt({ clusterId, events, missing }: ClusterSources, atMs: number): ClusterSources {
  const lost = missing.find(({ source }) => source === 'history');
  if (lost) throw new RollcallError('BUS_UNREACHABLE', lost.why);
  const until = events.filter(({ timeMs }) => timeMs <= atMs);
  if (until.length === 0)
    throw new RollcallError(
      'NOT_FOUND',
      `nothing had happened to cluster "${clusterId}" by ${new Date(atMs).toISOString()}`,
    );
  return {
    clusterId,
    cluster: undefined,
    request: undefined,
    facts: undefined,
    attempts: [],
    events: until,
    missing: [],
  };
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
  const { output, all = false, at } = flags;
  const atMs = at === undefined ? undefined : momentOf(at, Date.now());
  const sources = await withProgress('reading the hub', gatherSources(kind, target, flags));
  const description = describeSources(atMs === undefined ? sources : sourcesAt(sources, atMs));
  const isPast = atMs !== undefined;
  printResult(
    output === 'text' ? descriptionText(description, { all, isPast }) : documentText(description, output),
  );
}
