import type { Facts } from '@rollcall/shared/bus';
import { mergeCidrs } from './cidr.ts';
import type { CountedNode } from './counted-node.ts';
import { sumResources } from './quantity.ts';
import { sharedLabels } from './shared-labels.ts';

/** The hub takes so many (`factsSchema`); a cluster has one or two. */
export const mostCidrs = 16;
const regionLabel = 'topology.kubernetes.io/region=';

/** What many of them say; of as many the first by name, so that the order of nodes says nothing. */
function mostFrequent(texts: Iterable<string | undefined>): string | undefined {
  const counts = new Map<string, number>();
  for (const text of texts) if (text !== undefined) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].toSorted(([a, many], [b, more]) => more - many || (a < b ? -1 : 1))[0]?.[0];
}

function regionOf({ labels }: CountedNode): string | undefined {
  return labels.find((label) => label.startsWith(regionLabel))?.slice(regionLabel.length) || undefined;
}

/**
 * What its nodes say about the cluster, whatever their order.
 * @param labelThresholdPercent - how many of the nodes must share a label for it to be the cluster's; 0: none is
 */
export function describeNodes(
  nodes: readonly CountedNode[],
  { labelThresholdPercent }: { labelThresholdPercent: number },
): Facts {
  const ready = nodes.filter(({ isReady }) => isReady);
  const names = nodes.map(({ name }) => name);
  const sample = names.reduce<string | undefined>(
    (first, name) => (first === undefined || name < first ? name : first),
    undefined,
  );
  const provider = mostFrequent(nodes.map((node) => node.provider));
  const region = mostFrequent(nodes.map(regionOf));
  const podCIDRs = mergeCidrs(nodes.flatMap((node) => node.podCIDRs)).slice(0, mostCidrs);
  const nodeLabels = sharedLabels(nodes, labelThresholdPercent);
  return {
    nodes: {
      total: nodes.length,
      ready: ready.length,
      schedulable: ready.filter(({ isCordoned }) => !isCordoned).length,
      ...(sample === undefined ? {} : { sample }),
    },
    capacity: sumResources(nodes.map((node) => node.capacity)),
    allocatable: sumResources(nodes.filter(({ isCordoned }) => !isCordoned).map((node) => node.allocatable)),
    ...(podCIDRs.length > 0 ? { podCIDRs } : {}),
    ...(provider === undefined ? {} : { provider }),
    ...(region === undefined ? {} : { region }),
    ...(Object.keys(nodeLabels).length > 0 ? { nodeLabels } : {}),
  };
}
