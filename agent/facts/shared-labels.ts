import { isLabelValue } from '@rollcall/shared/resources/label-syntax';
import { isNodeLabelName, mostNodeLabels, nodeLabelPrefix } from '@rollcall/shared/resources/node-labels';
import type { CountedNode } from './counted-node.ts';

interface Shared {
  readonly prefix: string;
  readonly name: string;
  readonly value: string;
}

/** Of one machine, also where that is the whole cluster. */
const ofOneMachine = new Set(['kubernetes.io/hostname']);

function parseLabel(label: string): Shared {
  const at = label.indexOf('=');
  const [key, value] = [label.slice(0, at), label.slice(at + 1)];
  const slash = key.indexOf('/') + 1;
  return { prefix: key.slice(0, slash), name: key.slice(slash), value };
}

/** Whoever gives nodes a label of our prefix wants it on the cluster; labels without a prefix are people's, too. */
function rank({ prefix }: Shared): number {
  return prefix === nodeLabelPrefix ? 0 : prefix === '' ? 1 : 2;
}

/**
 * The labels that so many of the nodes share, by the name behind the prefix of their keys: as the cluster's they stand under our own.
 * Where two keys end in the same name, and where there are more than the hub takes, those of our prefix come first, then those of none,
 * then the others by key.
 * @param thresholdPercent - above 50, so that a key has one value; 0: no label counts
 */
export function sharedLabels(
  nodes: readonly Pick<CountedNode, 'labels'>[],
  thresholdPercent: number,
): Record<string, string> {
  if (thresholdPercent === 0 || nodes.length === 0) return {};
  const counts = new Map<string, number>();
  for (const { labels } of nodes) for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const shared = [...counts]
    .filter(([, count]) => count * 100 >= thresholdPercent * nodes.length)
    .map(([label]) => parseLabel(label))
    .filter(
      ({ prefix, name, value }) =>
        isNodeLabelName(name) && isLabelValue(value) && !ofOneMachine.has(prefix + name),
    )
    .toSorted((a, b) => rank(a) - rank(b) || (a.prefix + a.name < b.prefix + b.name ? -1 : 1));
  const byName = new Map<string, string>();
  for (const { name, value } of shared) {
    if (!byName.has(name) && byName.size < mostNodeLabels) byName.set(name, value);
  }
  return Object.fromEntries([...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
