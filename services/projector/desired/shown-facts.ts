import type { Facts } from '@rollcall/shared/bus';
import type { Claims } from '@rollcall/shared/events';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { cutText, printableLine } from '@rollcall/shared/text';

type ClusterStatus = NonNullable<ManagedCluster['status']>;
type ShownFacts = Pick<ClusterStatus, (typeof factFields)[number]>;

/** Fields of the status that only repeat what the agent reports: they may lag, so that a busy member costs few writes. */
export const factFields = [
  'kubernetesVersion',
  'platform',
  'apiServerURL',
  'healthz',
  'livez',
  'readyz',
  'nodes',
  'capacity',
  'allocatable',
  'podCIDRs',
  'serviceCIDRs',
  'clusterClaims',
  'agentVersion',
  'memberAccess',
] as const satisfies readonly (keyof ClusterStatus)[];

/** The API server refuses a whole status for one text that is too long (limits: ManagedCluster schema). */
const limits = {
  kubernetesVersion: 64,
  platform: 128,
  agentVersion: 64,
  memberAccess: 256,
  sample: 253,
  quantities: 64,
} as const;

function cut(text: string | undefined, maxLength: number): string | undefined {
  return text === undefined ? undefined : cutText(text, maxLength);
}

function quantities(given: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
  return given && Object.fromEntries(Object.entries(given).slice(0, limits.quantities));
}

/** By name as it is shown, each once: the API server keeps them as a map. */
function clusterClaims(facts: Facts | undefined): ClusterStatus['clusterClaims'] {
  const byName = new Map(
    facts?.claims
      ?.filter(({ name }) => name !== '')
      .map((claim) => {
        const name = printableLine(claim.name);
        return [name, { ...claim, name, value: claim.value.toWellFormed() }];
      }),
  );
  return byName.size === 0 ? undefined : [...byName.values()];
}

/**
 * What the agent reports of its member, as the status shows it.
 * @param claimed - from the request, shown until the first facts have come
 */
export function shownFacts(facts: Facts | undefined, claimed: Claims): Partial<ShownFacts> {
  const nodes = facts?.nodes
    ? { ...facts.nodes, sample: cut(facts.nodes.sample, limits.sample) }
    : claimed.nodesTotal === undefined
      ? undefined
      : { total: claimed.nodesTotal };
  const shown = {
    kubernetesVersion: cut(facts?.kubernetesVersion ?? claimed.kubernetesVersion, limits.kubernetesVersion),
    platform: cut(facts?.platform ?? claimed.platform, limits.platform),
    apiServerURL: facts?.apiServerURL ?? claimed.apiServerURL,
    healthz: facts?.healthz,
    livez: facts?.livez,
    readyz: facts?.readyz,
    nodes,
    capacity: quantities(facts?.capacity),
    allocatable: quantities(facts?.allocatable),
    podCIDRs: facts?.podCIDRs,
    serviceCIDRs: facts?.serviceCIDRs,
    clusterClaims: clusterClaims(facts),
    agentVersion: cut(facts?.agentVersion ?? claimed.agentVersion, limits.agentVersion),
    memberAccess: facts?.memberAccess && cut(printableLine(facts.memberAccess), limits.memberAccess),
  };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
}
