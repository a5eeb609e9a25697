import { reservedPrefixes } from './names.ts';

const namePart = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** Each part between dots by itself: `a..b` and `a.-b` are no prefixes, and the API server refuses the whole object for one. */
const prefixPart = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const longestPrefix = 253;

/** Whether the API server takes it as the key of a label. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return namePart.test(key);
  return (
    slash <= longestPrefix && prefixPart.test(key.slice(0, slash)) && namePart.test(key.slice(slash + 1))
  );
}

/** Whether the API server takes it as the value of a label. */
export function isLabelValue(value: string): boolean {
  return value === '' || namePart.test(value);
}

/** Whether its prefix is ours or Kubernetes', or below one of these: neither agents nor tokens nor policies may set it. */
export function isReservedLabel(key: string): boolean {
  const slash = key.indexOf('/');
  const prefix = `.${key.slice(0, slash + 1)}`;
  return slash > 0 && reservedPrefixes.some((reserved) => prefix.endsWith(`.${reserved}`));
}

/** Why no cluster can have one of these labels, the first of them, or undefined. */
export function labelProblem(given: Readonly<Record<string, string>>): string | undefined {
  for (const [key, value] of Object.entries(given)) {
    if (isReservedLabel(key)) return `the label "${key}" is reserved`;
    if (!isLabelKey(key)) return `"${key}" is no key that Kubernetes takes for a label`;
    if (!isLabelValue(value))
      return `the label "${key}" has the value "${value}": expected at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends`;
  }
  return undefined;
}

/** How many of the labels that it was given a ManagedCluster carries. */
export const maxGivenLabels = 64;

/**
 * Those of the labels that a cluster was given which its ManagedCluster carries: no reserved ones, and none that the API server
 * would refuse the whole object for. Of too many the first by their keys, so that it is always the same ones.
 */
export function carriedLabels(given: Readonly<Record<string, string>>): Record<string, string> {
  const usable = Object.entries(given).filter(
    ([key, value]) => isLabelKey(key) && !isReservedLabel(key) && isLabelValue(value),
  );
  if (usable.length <= maxGivenLabels) return Object.fromEntries(usable);
  const byKey = usable.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(byKey.slice(0, maxGivenLabels));
}
