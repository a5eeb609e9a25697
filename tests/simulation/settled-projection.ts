import {
  changed,
  type ClusterRecord,
  type Decision,
  livenessOf,
  livenessStateOf,
} from '@rollcall/shared/events';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { desiredCluster } from '../../services/projector/desired/desired-cluster.ts';
import { desiredRequest } from '../../services/projector/desired/desired-request.ts';
import { mergePatchBetween, plain, statusPatch } from '../../services/projector/desired/difference.ts';
import type { Kept } from './kube-server.ts';
import type { People, SaidLabel } from './people.ts';
import type { World } from './world.ts';

/** The condition of that type, as Kubernetes shows it. */
export function conditionOf({ status }: Kept, type: string): { status: string; reason: string } | undefined {
  const conditions = (status?.['conditions'] ?? []) as { type: string; status: string; reason: string }[];
  return conditions.find((condition) => condition.type === type);
}

/** How the status differs from what the projector would write now; nothing, when it does not. */
export function* otherStatus(name: string, { status }: Kept, wanted: object | undefined): Generator<string> {
  const difference = wanted && statusPatch(status, wanted);
  if (difference) yield `I5 ${name} shows ${JSON.stringify(difference.patch)} differently`;
}

/** How the object differs from what the projector would write now. */
function* otherObject(
  name: string,
  object: Kept | undefined,
  wanted: { spec: object; status: object },
): Generator<string> {
  if (!object) return yield `I5 ${name} is missing`;
  yield* otherStatus(name, object, wanted.status);
  const spec = mergePatchBetween(plain(object.spec ?? {}), plain({ ...object.spec, ...wanted.spec }));
  if (Object.keys(spec).length > 0) yield `I5 ${name} has another spec: ${JSON.stringify(spec)}`;
}

/** What must be seen of a cluster, from the design and not from the code that writes it: that may be wrong on both sides. */
function* unseen(
  people: People,
  object: Kept,
  { record, written }: { record: ClusterRecord; written: object },
): Generator<string> {
  const { metadata } = object;
  const { decision, aggregate } = record;
  const isIn = decision?.approvedKey !== undefined;
  const labels = {
    ...written,
    ...decision?.labels,
    'rollcall.dev/cluster-id': aggregate.id,
    'rollcall.dev/cluster-name': decision?.clusterName,
  };
  for (const [label, value] of Object.entries(labels)) {
    // What people say of a cluster that is not in is heard once it is.
    if (label === 'team' && !isIn && people.said.has(metadata.uid)) continue;
    if (metadata.labels?.[label] !== value)
      yield `I5 managedcluster ${metadata.name} has the label ${label}=${metadata.labels?.[label]}, and not ${value}`;
  }
  const isReady = isIn && livenessStateOf(livenessOf(record)) === 'ready';
  const shown = conditionOf(object, 'Ready');
  if ((shown?.status === 'True') !== isReady)
    yield `I5 managedcluster ${metadata.name} is ${isReady ? '' : 'not '}ready and shows ${shown?.status} ${shown?.reason}`;
}

/** Both objects of a cluster show what its record says, and nothing else shows it. */
export function* openProjection(
  world: World,
  people: People,
  id: string,
  record: ClusterRecord,
): Generator<string> {
  const { kube } = world;
  const name = record.decision?.clusterName ?? record.identity?.clusterName ?? '';
  const found = kube.get('managedclusters', name);
  const current = found as unknown as ManagedCluster | undefined;
  const cluster = desiredCluster(record, world.facts.get(id), current);
  if (cluster.presence === 'present') {
    const { shape, status } = cluster;
    yield* otherObject(`managedcluster ${name}`, found, { spec: shape.spec, status });
    if (found) yield* unseen(people, found, { record, written: shape.labels });
    const isIn = record.decision?.approvedKey !== undefined;
    if (found?.metadata.deletionTimestamp !== undefined && isIn)
      yield `managedcluster ${name} is being deleted, and its cluster stays`;
  }
  for (const other of kube.list('managedclusters')) {
    const isStrange = other.metadata.name !== name || cluster.presence !== 'present';
    if (other.spec?.['clusterId'] === id && isStrange)
      yield `I5 managedcluster ${other.metadata.name} of ${id} should be gone`;
  }
  const request = desiredRequest(record);
  const shown = kube.get('clusterregistrationrequests', id);
  if (request.presence === 'gone' && shown) yield `I5 request ${id} should be gone`;
  if (request.presence === 'present')
    yield* otherObject(`request ${id}`, shown, { spec: request.shape, status: request.status });
}

/** No decision since has given the label anew: a person's own word only repeats what the object says. */
function isLastWord(world: World, id: string, { afterSequence }: SaidLabel): boolean {
  let team: string | undefined;
  return world.stream.from(1, `cluster.${id}.*`).every(({ definition, sequence, section }) => {
    if (definition.writer !== 'approver') return true;
    const before = team;
    team = (section as Decision).labels['team'];
    return sequence <= afterSequence || definition === changed || team === before;
  });
}

/** What a person said by a label is what object and hub say. */
export function* openLabels(
  world: World,
  people: People,
  id: string,
  record: ClusterRecord,
): Generator<string> {
  const { decision } = record;
  const object = world.kube.get('managedclusters', decision?.clusterName ?? '');
  const said = people.said.get(object?.metadata.uid ?? '');
  if (!object || !said || decision?.verdict !== 'approved' || !isLastWord(world, id, said)) return;
  const want = said.team ?? 'none';
  const [shown = 'none', known = 'none'] = [object.metadata.labels?.['team'], decision.labels['team']];
  if (shown !== want || known !== want)
    yield `a person gave ${id} the team ${want}; the object says ${shown}, the hub knows ${known}`;
}
