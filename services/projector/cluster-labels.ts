import { labels, reservedPrefixes } from '@rollcall/shared/resources';
import { isLabelKey, isLabelValue } from '@rollcall/shared/resources/label-syntax';

function isReserved(key: string): boolean {
  const slash = key.indexOf('/');
  const prefix = `.${key.slice(0, slash + 1)}`;
  return slash > 0 && reservedPrefixes.some((reserved) => prefix.endsWith(`.${reserved}`));
}

/** Given labels without those that the API server would refuse the whole object for, and without ours. */
export function givenLabels(given: Readonly<Record<string, string>>): Record<string, string> {
  const usable = Object.entries(given).filter(
    ([key, value]) => isLabelKey(key) && !isReserved(key) && isLabelValue(value),
  );
  return Object.fromEntries(usable.slice(0, 64));
}

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
    ...givenLabels(cluster.given),
    [labels.clusterId]: cluster.clusterId,
    [labels.clusterName]: cluster.clusterName,
    [labels.registeredBy]: cluster.isHosted ? 'hub' : 'agent',
    ...(cluster.isPredefined ? {} : { [labels.createdBy]: 'projector' }),
    ...(cluster.clusterSet === undefined ? {} : { [labels.clusterSet]: cluster.clusterSet }),
  };
}
