import type { Facts } from '@rollcall/shared/bus';

/** What a ClusterClaim or a ClusterProperty says. */
export interface Claim {
  readonly name: string;
  /** Undefined: it is longer than `longestValue`. */
  readonly value: string | undefined;
  /** Not meant for the hub. */
  readonly isSpokeOnly: boolean;
}

/** Names with a meaning of their own in Open Cluster Management; they are always told, and do not count as custom ones. */
const reservedNames: ReadonlySet<string> = new Set([
  'id.k8s.io',
  'kubeversion.open-cluster-management.io',
  'platform.open-cluster-management.io',
  'product.open-cluster-management.io',
]);
/** As in Open Cluster Management. */
const mostCustom = 20;
export const longestValue = 1024;
/** Of all together as they stand in a request, where quotes are escaped twice: beside them there is room for everything else. */
const mostBytes = 32_768;

type Told = NonNullable<Facts['claims']>[number];

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);

function withinBytes(claims: readonly Told[]): Told[] {
  let roomBytes = mostBytes;
  return claims.filter((claim) => {
    const sizeBytes = Buffer.byteLength(JSON.stringify(JSON.stringify(claim)));
    if (sizeBytes > roomBytes) return false;
    roomBytes -= sizeBytes;
    return true;
  });
}

/**
 * What of it the hub is told: a property rather than a claim of the same name, the reserved names, and of the others the first 20 by
 * name. What is too long is left out, and so is what does not fit any more; how many these are is told, too.
 */
export function chooseClaims(said: {
  claims: readonly Claim[];
  properties: readonly Claim[];
}): Pick<Facts, 'claims' | 'claimsLeftOut'> {
  const all = new Map([...said.claims, ...said.properties].map((claim) => [claim.name, claim]));
  const meant = [...all.values()]
    .filter(({ isSpokeOnly, value }) => !isSpokeOnly && value !== '')
    .toSorted(byName);
  if (meant.length === 0) return {};
  const fitting = meant.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]));
  const reserved = fitting.filter(({ name }) => reservedNames.has(name));
  const custom = fitting.filter(({ name }) => !reservedNames.has(name)).slice(0, mostCustom);
  const claims = withinBytes([...reserved, ...custom]).toSorted(byName);
  return { claims, ...(claims.length < meant.length ? { claimsLeftOut: meant.length - claims.length } : {}) };
}
