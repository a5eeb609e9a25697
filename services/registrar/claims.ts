import { isDeepStrictEqual } from 'node:util';
import {
  type Claims,
  type ClusterRecord,
  draft,
  type EventDraft,
  type MemberProof,
  requested,
} from '@rollcall/shared/events';
import type { JoinBody } from '@rollcall/shared/protocol';
import { openRequest } from './standing.ts';

/** The reason of `requested` where the request is not a new one. */
export const claimsChanged = 'ClaimsChanged';

/** An agent that has waited longer is heard at least so often, however often its member changes. */
const longestPauseMs = 3_600_000;
const leastPauseMs = 60_000;

/** Facts may be longer than what history keeps of them (`claimsSchema`). */
function cut(text: string | undefined): string | undefined {
  return text?.slice(0, 64);
}

/** What the agent says of its member, as far as policies see it. */
export function claimsIn({ facts, labels }: JoinBody): Claims {
  const { kubernetesVersion, platform, provider, region, apiServerURL, nodes, agentVersion } = facts;
  const said = {
    kubernetesVersion: cut(kubernetesVersion),
    platform: cut(platform),
    provider: cut(provider),
    region: cut(region),
    apiServerURL,
    nodesTotal: nodes?.total,
    agentVersion: cut(agentVersion),
  };
  const told = Object.entries(said).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(told), labels };
}

/** The names of what is otherwise, sorted. */
function changedNames(before: Claims, now: Claims): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], now[name])).toSorted();
}

/**
 * A cluster that waits asks again and again with the same key: what it says of itself may have changed, or it can prove now what
 * it could not before, and policies are to judge by that (ADR 48). The request stays the same one: no use of a token is spent, and
 * what an approval gives is what it asked for at first.
 *
 * The longer it has waited without a change, the sooner a change is heard; one that changes all the time is heard at twice the
 * interval each time, up to an hour: it must not fill the history.
 * @param ask.askedAtMs - an ask that was late on its way must not undo what a later one said
 * @param context.nowMs - hub time
 */
export function changedRequest(
  ask: { readonly agentKey: string; readonly askedAtMs?: number; readonly body: JoinBody },
  context: {
    readonly cluster: ClusterRecord;
    readonly member?: MemberProof | undefined;
    readonly nowMs: number;
  },
): EventDraft[] {
  const { cluster, member, nowMs } = context;
  const { identity, lastOf } = cluster;
  const { askedAtMs } = ask;
  const request = openRequest(cluster);
  // For a rotation the key that is in speaks, and no claim.
  if (!identity || request?.key !== ask.agentKey || request.rotation !== undefined) return [];
  if (askedAtMs !== undefined && askedAtMs < (request.askedAtMs ?? 0)) return [];
  const claimed = claimsIn(ask.body);
  const names = changedNames(request.claimed, claimed);
  const isProven = member?.sameMember === true && request.member?.sameMember !== true;
  if (names.length === 0 && !isProven) return [];
  const toldAtMs = lastOf.registrar?.timeMs ?? request.requestedAtMs;
  const pauseMs = Math.min(longestPauseMs, Math.max(leastPauseMs, toldAtMs - request.requestedAtMs));
  if (nowMs - toldAtMs < pauseMs) return [];
  const what = [...names, ...(isProven ? ['proof of member'] : [])].join(', ');
  const again = {
    ...request,
    claimed,
    ...(isProven ? { member } : {}),
    ...(askedAtMs === undefined ? {} : { askedAtMs }),
  };
  return [
    draft(requested, cluster, {
      reason: claimsChanged,
      message: `cluster "${identity.clusterName}" says something else of itself while it waits: ${what}`,
      section: { ...identity, request: again },
    }),
  ];
}
