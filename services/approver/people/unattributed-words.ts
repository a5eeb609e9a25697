import { createHash } from 'node:crypto';
import type { ClusterRecord, Decision } from '@rollcall/shared/events';
import type { KubeObject, StoredObject } from '@rollcall/shared/kubernetes';
import { annotations, type ClusterRegistrationRequest, labels } from '@rollcall/shared/resources';
import { type ClusterObject, setOfObject } from './cluster-change.ts';
import { readPersonDecision } from './person-decision.ts';
import { boundedWord, type Words } from '../admission/object-words.ts';

/** Of a ClusterRegistrationRequest: the decision that stands in it. */
export function requestWords(object: StoredObject<ClusterRegistrationRequest>): Words {
  const decision = readPersonDecision(object);
  return decision ? [`decision:${decision.digest}`] : [];
}

/** Of whoever changed the object last, and what they made of it; undefined where nobody is named. */
export function authorWord({ metadata }: ClusterObject): string | undefined {
  const name = metadata.annotations?.[annotations.changedBy];
  const ofLabels = createHash('sha256')
    .update(JSON.stringify(metadata.labels ?? {}))
    .digest('hex');
  return name && boundedWord(`changed-by:${name}@${metadata.generation ?? 1}/${ofLabels.slice(0, 16)}`);
}

const said = (name: string, value: unknown): Words =>
  value === undefined ? [] : [boundedWord(`${name}:${String(value)}`)];

/** Of a ManagedCluster: everything in it that takes more than the right to write it, and whom it names. */
export function clusterWords(object: ClusterObject): Words {
  const { metadata, spec } = object;
  const author = authorWord(object);
  return [
    ...said('operation', spec.operation && `${metadata.uid}/${spec.operation.id}`),
    ...said('access', spec.access),
    ...said('member-access', spec.memberAccess),
    ...said('cluster-set', setOfObject(object) ?? ''),
    ...said('accepts', spec.hubAcceptsClient),
    ...said('kubeconfig', spec.kubeconfigSecret),
    ...said('leave-requested-by', metadata.annotations?.[annotations.leaveRequestedBy]),
    ...(author === undefined ? [] : [author]),
  ];
}

/**
 * Which words of a ManagedCluster would change something: those that say what the record says are in force already. Without who
 * changed it last, which says nothing alone.
 */
export function newClusterWords(object: ClusterObject, { decision }: Pick<ClusterRecord, 'decision'>): Words {
  const { spec } = object;
  const isWithdrawn = decision?.withdrawnKey !== undefined;
  const givesBackOrLetsIn = isWithdrawn || decision?.verdict === 'held';
  const acceptsMatters =
    spec.hubAcceptsClient === true ? givesBackOrLetsIn : decision?.approvedKey !== undefined;
  const isKnown: Readonly<Record<string, boolean>> = {
    operation: spec.operation !== undefined && (decision?.operations?.includes(spec.operation.id) ?? false),
    access: spec.access === (decision?.access ?? 'None'),
    'member-access': (spec.memberAccess === 'Denied') === (decision?.memberAccess === 'Denied'),
    'cluster-set': setOfObject(object) === decision?.clusterSet,
    accepts: decision !== undefined && !acceptsMatters,
    kubeconfig: spec.kubeconfigSecret === decision?.predefined?.kubeconfig?.secret,
    'leave-requested-by': decision?.verdict === 'leaving',
    'changed-by': true,
  };
  return clusterWords(object).filter((word) => isKnown[word.slice(0, word.indexOf(':'))] !== true);
}

/** A ManagedCluster as if words in it had not been written: who reads it finds what the record says. */
export function withoutWords(
  object: ClusterObject,
  unproven: ReadonlySet<string>,
  decision: Pick<Decision, 'clusterSet'> | undefined,
): ClusterObject {
  const names = new Set(
    clusterWords(object).flatMap((word) => (unproven.has(word) ? [word.slice(0, word.indexOf(':'))] : [])),
  );
  if (names.size === 0) return object;
  const { operation, access, memberAccess, hubAcceptsClient, kubeconfigSecret, ...spec } = object.spec;
  const { [labels.clusterSet]: setLabel, ...otherLabels } = object.metadata.labels ?? {};
  const clusterSet = names.has('cluster-set') ? decision?.clusterSet : setLabel;
  const notes = { ...object.metadata.annotations };
  if (names.has('leave-requested-by')) delete notes[annotations.leaveRequestedBy];
  if (names.has('changed-by')) delete notes[annotations.changedBy];
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...otherLabels, ...(clusterSet === undefined ? {} : { [labels.clusterSet]: clusterSet }) },
      annotations: notes,
    },
    spec: {
      ...spec,
      ...(operation === undefined || names.has('operation') ? {} : { operation }),
      ...(access === undefined || names.has('access') ? {} : { access }),
      ...(memberAccess === undefined || names.has('member-access') ? {} : { memberAccess }),
      ...(hubAcceptsClient === undefined || names.has('accepts') ? {} : { hubAcceptsClient }),
      ...(kubeconfigSecret === undefined || names.has('kubeconfig') ? {} : { kubeconfigSecret }),
    },
  };
}

/** Whether an object was made since then, and never changed. */
export function isBornAfter({ metadata }: Pick<KubeObject, 'metadata'>, atMs: number): boolean {
  const bornAtMs = Date.parse(metadata.creationTimestamp ?? '');
  return metadata.generation === 1 && bornAtMs >= atMs;
}
