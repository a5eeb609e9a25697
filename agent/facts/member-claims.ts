import type { Facts } from '@rollcall/shared/bus';
import type { Resource, StoredObject } from '@rollcall/shared/kubernetes';
import { chooseClaims, type Claim, longestValue } from './choose-claims.ts';
import { type Followed, followResource } from './follow-resource.ts';
import { type MemberApi, memberError } from './member-api.ts';

/** A kind by which a cluster says something of itself, and the versions of it that we can read, best first. */
interface ClaimKind {
  readonly group: string;
  readonly versions: readonly string[];
  readonly plural: string;
  readonly kind: string;
}

const claims: ClaimKind = {
  group: 'cluster.open-cluster-management.io',
  versions: ['v1alpha1'],
  plural: 'clusterclaims',
  kind: 'ClusterClaim',
};
const properties: ClaimKind = {
  group: 'about.k8s.io',
  versions: ['v1beta1', 'v1alpha1'],
  plural: 'clusterproperties',
  kind: 'ClusterProperty',
};

/** A value is at most a kilobyte, or should be. */
const pageSize = 100;
const longestName = 253;
const spokeOnly = 'open-cluster-management.io/spoke-only';

type ClaimObject = StoredObject & { spec?: { value?: unknown } };

function keepClaim(object: StoredObject): Claim {
  const { spec, metadata } = object as ClaimObject;
  const value = typeof spec?.value === 'string' ? spec.value : '';
  return {
    name: String(metadata.name).slice(0, longestName),
    // None that is too long, not even a part of it: that would hold the whole in memory.
    value: value.length > longestValue ? undefined : value,
    isSpokeOnly: metadata.labels?.[spokeOnly] !== undefined,
  };
}

interface ApiGroup {
  readonly versions?: readonly { readonly version: string }[];
}

/** The version of it that the member serves; undefined where it serves none: the kind is not installed. */
async function servedVersion(member: Pick<MemberApi, 'get'>, kind: ClaimKind): Promise<Resource | undefined> {
  const { status, body } = await member.get(`/apis/${kind.group}`);
  if (status >= 500) throw memberError(`/apis/${kind.group}`, { status, body });
  if (status !== 200) return undefined;
  const { versions = [] } = JSON.parse(body) as ApiGroup;
  const version = kind.versions.find((known) => versions.some((served) => served.version === known));
  return version === undefined ? undefined : { ...kind, version, namespaced: false };
}

/** What the cluster says of itself: ClusterClaims and ClusterProperties, as far as the hub takes them. */
export interface MemberClaims {
  latest(): Pick<Facts, 'claims' | 'claimsLeftOut'>;
  readonly firstLook: Promise<unknown>;
}

/** @param options.after - what is more urgent: each connection costs the API server a handshake */
export function followClaims(
  member: Pick<MemberApi, 'get' | 'watch'>,
  options: { lookAgainMs: number; after: Promise<unknown>; onChange: () => void; signal: AbortSignal },
): MemberClaims {
  const follow = (kind: ClaimKind, after: Promise<unknown>): Followed<Claim> =>
    followResource(member, {
      ...options,
      async resource() {
        await after;
        return servedVersion(member, kind);
      },
      keep: keepClaim,
      pageSize,
    });
  const ofClaims = follow(claims, options.after);
  const ofProperties = follow(properties, ofClaims.firstLook);
  return {
    latest: () =>
      chooseClaims({
        claims: [...(ofClaims.latest()?.values() ?? [])],
        properties: [...(ofProperties.latest()?.values() ?? [])],
      }),
    firstLook: ofProperties.firstLook,
  };
}
