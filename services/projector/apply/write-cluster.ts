import { RollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, predefinedId, waitsAsNewcomer } from '@rollcall/shared/events';
import { annotations, apiVersion, labels, leaveFinalizer, managedCluster } from '@rollcall/shared/resources';
import { nodeLabelsPatch } from '../desired/cluster-labels.ts';
import { endedFormerRegistration, priorityOf } from '../desired/registration-phase.ts';
import { type ClusterTools, lookAgainMs, type ShownCluster } from './projection-context.ts';
import {
  type ClusterFacts,
  type ClusterShape,
  desiredCluster,
  isDecisionUnshown,
} from '../desired/desired-cluster.ts';
import { type JsonObject, mergePatchBetween, plain, statusPatch } from '../desired/difference.ts';
import type { Pass } from '../queue/work-queue.ts';
import { isOfPeople } from '../desired/given-labels.ts';
import type { KubeView } from './kube-view.ts';
import { isMadeOfKnown } from '../desired/visibility.ts';
import { readGivenLabels } from './read-given-labels.ts';
import type { Debounce } from './debounce.ts';
import type { ShowStatus } from './trace-shown-status.ts';
import { unknownSet, withUnheard } from '../desired/ignored-edits.ts';
import { factFields } from '../desired/shown-facts.ts';

/** How soon the object of a waiting cluster is tried again, whose name another object has. */
const nameTakenAgainMs = 60_000;

/** Whether only what the agent reports has changed: it may wait, a transition may not. */
function isDetail(fields: readonly string[]): boolean {
  return fields.every((field) => (factFields as readonly string[]).includes(field));
}

/** Finalizers in a merge patch replace the whole list, so the patch holds only for the version that was read. */
function finalizersPatch(object: ShownCluster, finalizers: readonly string[]): JsonObject {
  return { metadata: { finalizers, resourceVersion: object.metadata.resourceVersion } };
}

/** What of the spec people may write as well; the rest says which cluster it is. */
const isSetting = (field: string) => !['clusterId', 'clientId', 'clusterType', 'mode'].includes(field);

/** Of these the hub knows better. */
const noSettings = { unschedulable: undefined, taints: undefined, access: undefined, heartbeat: undefined };

/**
 * What differs in metadata and spec, as far as it is ours to write now.
 * @param shape.labels - those that are to be written; others are left, because a person may just have set them
 */
function clusterShapePatch(record: ClusterRecord, current: ShownCluster, shape: ClusterShape): JsonObject {
  const { finalizers = [], labels: shown = {}, deletionTimestamp } = current.metadata;
  const given = isDecisionUnshown(record, current);
  // What it says beyond its name would read as changes, the defaults of the API server too.
  const isToFill = isMadeOfKnown(record, current);
  const settings = isToFill ? { ...noSettings, ...shape.settings } : {};
  const kept = isToFill
    ? Object.fromEntries(Object.entries(shown).filter(([key]) => !isOfPeople(key)))
    : shown;
  const wantedSpec = given ? { ...shape.spec, ...settings } : { clusterId: shape.spec.clusterId };
  const labelPatch = mergePatchBetween(shown, { ...kept, ...shape.labels });
  const specPatch = mergePatchBetween(plain(current.spec), plain({ ...current.spec, ...wantedSpec }));
  // After the deletionTimestamp the API server takes no new finalizer.
  const lacksFinalizer = !deletionTimestamp && shape.finalizers.some((one) => !finalizers.includes(one));
  const isAsPeople = Object.keys(labelPatch).some(isOfPeople) || Object.keys(specPatch).some(isSetting);
  const metadata = {
    ...(Object.keys(labelPatch).length > 0 ? { labels: labelPatch } : {}),
    // The admission policies let nobody's name stand on what we wrote (rollcall-authors); one may have come since it was read.
    ...(isAsPeople ? { annotations: { [annotations.changedBy]: null } } : {}),
    ...(lacksFinalizer
      ? {
          finalizers: [...finalizers, ...shape.finalizers],
          resourceVersion: current.metadata.resourceVersion,
        }
      : {}),
  };
  return {
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(Object.keys(specPatch).length > 0 ? { spec: specPatch } : {}),
  };
}

/** The names under which the API server shows each cluster: more than one, if it left and came back by another name. */
function indexNames({ clusters }: KubeView): ReadonlyMap<string, ReadonlySet<string>> {
  const namesOf = new Map<string, Set<string>>();
  clusters.cache.onChange(({ kind, object: { metadata, spec } }) => {
    // What a person made beforehand is not ours to take away.
    if (spec.clusterId === undefined || metadata.labels?.[labels.createdBy] !== 'projector') return;
    const names = namesOf.get(spec.clusterId) ?? new Set<string>();
    if (kind === 'deleted') names.delete(metadata.name);
    else names.add(metadata.name);
    if (names.size > 0) namesOf.set(spec.clusterId, names);
    else namesOf.delete(spec.clusterId);
  });
  return namesOf;
}

/** The name of its ManagedCluster; '' while it has none. */
export function shownName({ decision, identity }: ClusterRecord): string {
  return decision?.clusterName ?? identity?.clusterName ?? '';
}

/** A cluster's ManagedCluster, under all names that it has had. */
export interface ClusterObjects {
  /** @param isLater - more is to come soon: what is missing is made, and nothing else is written */
  show(record: ClusterRecord, facts: ClusterFacts | undefined, isLater: boolean): Promise<Pass>;
  /** Takes the object of this name away, if it shows this cluster. */
  letGo(name: string, record: ClusterRecord): Promise<void>;
}

/** Makes a cluster's ManagedCluster show what its record and facts say. */
export function createClusterObjects(
  tools: ClusterTools,
  { showStatus, debounce }: { showStatus: ShowStatus; debounce: Pick<Debounce, 'forget'> },
): ClusterObjects {
  const { view, writer, nowMs } = tools;
  const namesOf = indexNames(view);

  /** A name that still shows another cluster becomes free once that one's own record says so. */
  function claimName(clusterId: string, current: ShownCluster | undefined): void {
    const holder = current && predefinedId(current.spec);
    if (holder === undefined || holder === clusterId) return;
    tools.mark(holder);
    throw new RollcallError(
      'APPEND_CONFLICT',
      `managed cluster "${current?.metadata.name}" still shows cluster "${holder}"`,
    );
  }

  async function letGo(name: string, record: ClusterRecord): Promise<void> {
    const clusterId = record.aggregate.id;
    const priority = priorityOf(record);
    const current = view.clusters.get(name);
    // A person may have made it anew meanwhile: that one carries no mark of ours, and is none of this cluster's past.
    if (current?.metadata.labels?.[labels.clusterId] !== clusterId) return;
    const { finalizers = [], deletionTimestamp } = current.metadata;
    let last: ShownCluster | undefined = current;
    // Before the delete, so that the approver never takes our own delete for a person's.
    if (finalizers.includes(leaveFinalizer)) {
      const others = finalizers.filter((one) => one !== leaveFinalizer);
      last = await writer.patch(view.clusters, current, {
        patch: finalizersPatch(current, others),
        priority,
      });
    }
    if (last && deletionTimestamp === undefined) await writer.remove(view.clusters, last, priority);
    tools.factInterval.forget(clusterId);
    debounce.forget(clusterId);
  }

  /** Creates the object if it is missing; this waits for nothing. */
  async function ensureCluster(
    record: ClusterRecord,
    name: string,
    shape: ClusterShape,
  ): Promise<ShownCluster | undefined> {
    const current = view.clusters.get(name);
    claimName(record.aggregate.id, current);
    if (current) return current;
    const made = await writer.create(view.clusters, {
      apiVersion,
      kind: managedCluster.kind,
      metadata: { name, labels: { ...shape.nodeLabels, ...shape.labels }, finalizers: [...shape.finalizers] },
      spec: { ...shape.spec, ...shape.settings },
    });
    claimName(record.aggregate.id, made);
    return made;
  }

  /** Of the labels of a decision that is not shown yet, all that are ours, and of those of people what was given since. */
  async function labelsToWrite(
    record: ClusterRecord,
    current: ShownCluster,
    wanted: ClusterShape['labels'],
  ): Promise<ClusterShape['labels']> {
    if (!isDecisionUnshown(record, current)) return {};
    const { labels: shown = {} } = current.metadata;
    const isOpen = Object.entries(wanted).some(
      ([label, value]) => isOfPeople(label) && shown[label] !== value,
    );
    if (!isOpen || isMadeOfKnown(record, current)) return wanted;
    const given = await readGivenLabels(tools.log, record, current);
    const toWrite = Object.entries(wanted).filter(([label]) => !isOfPeople(label) || given.has(label));
    return Object.fromEntries(toWrite);
  }

  async function show(
    record: ClusterRecord,
    facts: ClusterFacts | undefined,
    isLater: boolean,
  ): Promise<Pass> {
    const clusterId = record.aggregate.id;
    const name = shownName(record);
    const wanted = desiredCluster(record, facts, view.clusters.get(name));
    // A cluster keeps its name until it leaves: under another one it is shown as it was before it left.
    for (const former of namesOf.get(clusterId) ?? []) if (former !== name) await letGo(former, record);
    if (wanted.presence === 'gone') await letGo(wanted.name, record);
    if (wanted.presence !== 'present') return { isShown: true };
    const shown = view.clusters.get(name);
    // An object of another id that defines no cluster must not keep the request from being seen.
    const holder = shown && predefinedId(shown.spec);
    if (waitsAsNewcomer(record) && holder !== undefined && holder !== clusterId)
      return { isShown: true, againInMs: nameTakenAgainMs };
    if (shown?.metadata.finalizers?.includes(leaveFinalizer) && endedFormerRegistration(record, shown)) {
      await letGo(name, record);
      return { isShown: false, againInMs: lookAgainMs };
    }
    let current = await ensureCluster(record, name, wanted.shape);
    if (!current) return { isShown: false, againInMs: lookAgainMs };
    if (isLater) return { isShown: true };
    const toWrite = await labelsToWrite(record, current, wanted.shape.labels);
    const shapePatch = clusterShapePatch(record, current, { ...wanted.shape, labels: toWrite });
    if (Object.keys(shapePatch).length > 0)
      current = await writer.patch(view.clusters, current, {
        patch: shapePatch,
        priority: priorityOf(record),
      });
    if (!current) return { isShown: false, againInMs: lookAgainMs };
    // Again, because generation and conditions are now those of the object as it is.
    const now = desiredCluster(record, facts, current);
    // A decision that changes nothing to be seen is witnessed too: the approver takes only what is newer for a person's change.
    const isUnshown = isDecisionUnshown(record, current);
    const unknown =
      (await tools.unknownAuthors.of(view.clusters, current)) ?? unknownSet(current, view.sets.get);
    const difference =
      now.presence === 'present'
        ? statusPatch(
            current.status,
            withUnheard(now.status, unknown, { current, nowMs: nowMs() }),
            isUnshown,
          )
        : undefined;
    const nodeLabels = nodeLabelsPatch(current.metadata.labels ?? {}, wanted.shape.nodeLabels);
    const isLabelled = Object.keys(nodeLabels).length === 0;
    if (!difference && isLabelled) return { isShown: true };
    const isOfFacts = !difference || (!isUnshown && isDetail(difference.fields));
    const priority = isOfFacts ? 'fact' : priorityOf(record);
    const waitMs = priority === 'fact' ? tools.factInterval.waitMs(clusterId) : 0;
    if (waitMs > 0) return { isShown: true, againInMs: waitMs };
    const target = current;
    // Whether hubAcceptsClient stood there before is said of the object as it was read.
    const isOfVersion = waitsAsNewcomer(record);
    const isTaken =
      !difference ||
      (await showStatus(record, target, () =>
        writer.patchStatus(view.clusters, target, { patch: difference.patch, priority, isOfVersion }),
      ));
    if (!isTaken) return { isShown: false, againInMs: lookAgainMs };
    if (!isLabelled)
      await writer.patch(view.clusters, target, {
        patch: { metadata: { labels: nodeLabels } },
        priority: 'fact',
      });
    tools.factInterval.wrote(clusterId);
    return { isShown: true };
  }

  return { show, letGo };
}
