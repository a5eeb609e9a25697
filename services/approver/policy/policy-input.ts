import type { Identity, TokenDeclaration } from '@rollcall/shared/events';
import { type FleetCounts, utcDate } from '../fleet/fleet-tally.ts';
import type { PolicyInput } from './policy-environment.ts';

/** What `token.uses` is where a token may be used without end: greater than any number that a rule compares it with. */
const unlimitedUses = Number.MAX_SAFE_INTEGER;

/** Without the fields that are not there, so that `has()` tells them. */
function present(fields: Record<string, string | number | boolean | object | undefined>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
    string,
    string | number | boolean | object
  >;
}

/**
 * Whether a token still lets clusters in, when they are judged: who was held under it long ago is not let in by a policy that
 * somebody writes for others today.
 * @param nowMs - hub time; a token that ends exactly now has ended
 */
function isTokenValid(token: TokenDeclaration | undefined, nowMs: number): boolean {
  return (
    token !== undefined &&
    !token.withdrawn &&
    token.voidSinceEpoch === undefined &&
    (token.expiresAtMs === undefined || nowMs < token.expiresAtMs)
  );
}

/**
 * What policies see of a request. What the agent says of itself stands under `claimed`; labels stand under `request` only
 * where the token allows them.
 */
export function policyInput(
  identity: Identity,
  context: {
    token: TokenDeclaration | undefined;
    keyChanged: boolean;
    /** Only gathered where a policy reads it: an expression that does is then always one of the policies asked. */
    fleet?: FleetCounts | undefined;
    nowMs: number;
  },
): PolicyInput {
  const { token, keyChanged, fleet, nowMs } = context;
  const { request } = identity;
  const { claimed } = request;
  const now = new Date(nowMs);
  return {
    request: present({
      clusterId: identity.clusterId,
      clusterName: identity.clusterName,
      clientId: identity.clientId,
      clusterType: identity.clusterType,
      mode: identity.mode,
      labels: request.labels,
    }),
    token: present({
      valid: isTokenValid(token, nowMs),
      name: token?.name,
      namespace: token?.namespace,
      uses: token && (token.uses === 'unlimited' ? unlimitedUses : token.uses),
      unlimited: token?.uses === 'unlimited',
      clusterName: token?.clusterName,
      clientId: token?.clientId,
      clusterSet: token?.clusterSet,
      labels: token?.labels ?? {},
    }),
    claimed: present({
      kubernetesVersion: claimed.kubernetesVersion,
      platform: claimed.platform,
      provider: claimed.provider,
      region: claimed.region,
      apiServerURL: claimed.apiServerURL,
      nodes: claimed.nodesTotal,
      agentVersion: claimed.agentVersion,
      labels: claimed.labels,
    }),
    verified: { keyChanged, sameMember: request.member?.sameMember ?? false },
    fleet: present({ ...fleet }),
    time: {
      nowMs,
      hour: now.getUTCHours(),
      minute: now.getUTCMinutes(),
      weekday: now.getUTCDay(),
      date: utcDate(nowMs),
    },
  };
}
