import type { Facts } from '@rollcall/shared/bus';
import { labels } from '@rollcall/shared/resources';
import { carriedLabels } from '@rollcall/shared/resources/label-syntax';
import { nodeLabelPrefix } from '@rollcall/shared/resources/node-labels';

/** Every label of a ManagedCluster that follows from the record. */
export function clusterLabels(cluster: {
  clusterId: string;
  clusterName: string;
  given: Readonly<Record<string, string>>;
  clusterSet: string | undefined;
  /** A person made the object, or it stands for one that a person made: then it does not carry our mark. */
  isPredefined: boolean;
  /** The hub reaches the member by itself. */
  isHosted: boolean;
}): Record<string, string> {
  return {
    ...carriedLabels(cluster.given),
    [labels.clusterId]: cluster.clusterId,
    [labels.clusterName]: cluster.clusterName,
    [labels.registeredBy]: cluster.isHosted ? 'hub' : 'agent',
    ...(cluster.isPredefined ? {} : { [labels.createdBy]: 'projector' }),
    ...(cluster.clusterSet === undefined ? {} : { [labels.clusterSet]: cluster.clusterSet }),
  };
}

/** What most nodes of the cluster share, as its agent says; undefined where it says nothing of nodes. */
export function nodeLabels(facts: Facts | undefined): Record<string, string> | undefined {
  if (facts?.nodes === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(facts.nodeLabels ?? {}).map(([name, value]) => [`${nodeLabelPrefix}${name}`, value]),
  );
}

/**
 * What differs of the labels that nodes share; `null` takes away one that they share no more.
 * @param wanted - undefined: what is there stays
 */
export function nodeLabelsPatch(
  shown: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
): Record<string, string | null> {
  if (wanted === undefined) return {};
  const outdated = Object.keys(shown).filter(
    (key) => key.startsWith(nodeLabelPrefix) && !Object.hasOwn(wanted, key),
  );
  const news = Object.entries(wanted).filter(([key, value]) => shown[key] !== value);
  return Object.fromEntries([...outdated.map((key) => [key, null] as const), ...news]);
}
