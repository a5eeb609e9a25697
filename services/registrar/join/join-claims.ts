import { isDeepStrictEqual } from 'node:util';
import {
  type Claims,
  claimsSchema,
  type ClusterRecord,
  draft,
  type EventDraft,
  isAhead,
  isRecent,
  type MemberProof,
  requested,
} from '@rollcall/shared/events';
import { type JoinBody, longestSkewMs } from '@rollcall/shared/protocol';
import { cutText } from '@rollcall/shared/text';
import { openRequest } from '../replies/key-status.ts';

/** The reason of `requested` where the request is not a new one. */
export const claimsChanged = 'ClaimsChanged';

/** However often its member changes, an agent that waits is heard this often. */
export const longestPauseMs = 86_400_000;
export const leastPauseMs = 60_000;
/** One that was longer on its way may be older than what was heard since and changed nothing. */
const freshForMs = 60_000;

/** Facts may be longer than what history keeps of them (`claimsSchema`). */
function cut(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cutText(text, 64);
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

/** The names of what is otherwise, sorted: of what both may say. */
function changedNames(before: Claims, now: Claims): string[] {
  return Object.keys(claimsSchema.shape)
    .filter((name) => !isDeepStrictEqual(before[name], now[name]))
    .toSorted();
}

/** A newer version, running beside this one, may have kept claims that this one does not know. */
function unknownIn(claimed: Claims): Claims {
  const names = Object.keys(claimed).filter((name) => !Object.hasOwn(claimsSchema.shape, name));
  return Object.fromEntries(names.map((name) => [name, claimed[name]])) as Claims;
}

/**
 * A cluster that waits asks again and again with the same key: what it says of itself may have changed, or it can prove now what
 * it could not before, and policies are to judge by that (ADR 9). The request stays the same one: no use of a token is spent, and
 * what an approval gives is what it asked for at first. Its labels are that, too: who decides must not be shown others.
 *
 * The longer it has waited without a change, the sooner a change is heard; one that changes all the time is heard at twice the
 * interval each time, up to a day: it must not fill the history.
 * @param context.nowMs - hub time
 */
export function changedRequest(
  attempt: { readonly agentKey: string; readonly signedAtMs?: number; readonly body: JoinBody },
  context: {
    readonly cluster: ClusterRecord;
    readonly member?: MemberProof | undefined;
    readonly nowMs: number;
  },
): EventDraft[] {
  const { cluster, member, nowMs } = context;
  const { identity, lastOf } = cluster;
  const { signedAtMs } = attempt;
  const request = openRequest(cluster);
  // For a rotation the key that is in speaks, and no claim.
  if (!identity || request?.key !== attempt.agentKey || request.rotation !== undefined) return [];
  if (signedAtMs !== undefined && nowMs - signedAtMs > freshForMs) return [];
  // By a clock that is behind an old request looks fresh; one that was heard is newer whatever the clocks say (found by simulation).
  const heardMs = request.signedAtMs ?? 0;
  if (signedAtMs !== undefined && signedAtMs < heardMs && !isAhead(heardMs, nowMs, longestSkewMs)) return [];
  const claimed = {
    ...unknownIn(request.claimed),
    ...claimsIn(attempt.body),
    labels: request.claimed.labels,
  };
  const names = changedNames(request.claimed, claimed);
  const isProven = member?.sameMember === true && request.member?.sameMember !== true;
  if (names.length === 0 && !isProven) return [];
  const toldAtMs = lastOf.registrar?.timeMs ?? request.requestedAtMs;
  const pauseMs = Math.min(longestPauseMs, Math.max(leastPauseMs, toldAtMs - request.requestedAtMs));
  if (isRecent(toldAtMs, { nowMs, withinMs: pauseMs })) return [];
  const what = [...names, ...(isProven ? ['proof of member'] : [])].join(', ');
  const again = {
    ...request,
    claimed,
    ...(isProven ? { member } : {}),
    ...(signedAtMs === undefined ? {} : { signedAtMs }),
  };
  const drafted = draft(requested, cluster, {
    reason: claimsChanged,
    message: `cluster "${identity.clusterName}" says something else of itself while it waits: ${what}`,
    section: { ...identity, request: again },
  });
  // What comes of it is found by the request, whichever request said it.
  return [{ ...drafted, trace: { correlation: request.id, traceparent: lastOf.registrar?.traceparent } }];
}
