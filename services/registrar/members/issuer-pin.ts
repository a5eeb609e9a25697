import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  draft,
  type EventDraft,
  type Identity,
  isRecent,
  type MemberIssuer,
  pinned,
} from '@rollcall/shared/events';

/** What makes an issuer the one it is. */
function wordsOf({ issuer, subject, keys }: MemberIssuer): string {
  return JSON.stringify([issuer, subject, keys.map(({ kid, n, x, y }) => [kid, n, x, y])]);
}

/**
 * The pin that goes with a key as it is admitted: what its own request showed. A key that showed nothing has none, so that
 * the pin of a key that was replaced does not outlive it.
 */
export function pinOfAdmission(
  { request }: Identity,
  admittedKey: string,
): Partial<Pick<Identity, 'member' | 'request'>> {
  if (request.key !== admittedKey || !request.member?.shown) return {};
  const { shown, ...proof } = request.member;
  // Once is enough: it is up to 12 KB, and every later event of the registrar about this cluster carries it along.
  return { member: shown, request: { ...request, member: proof } };
}

/** By what a key may prove that it is of the same member: only while a key is in. */
export function pinOf({ identity }: ClusterRecord): MemberIssuer | undefined {
  return identity?.admittedKey === undefined ? undefined : identity.member;
}

/** The keys of an API server change some times a year, each time twice; whoever shows others all the time must not fill the history. */
export const mostPinsPerDay = 4;
const dayMs = 86_400_000;

export interface PinContext {
  readonly record: ClusterRecord;
  readonly nowMs: number;
  /** What is left of the place for events is for what the hub has promised already. */
  readonly isFull: boolean;
}

/**
 * Takes over what the approved key shows of its member now.
 * @returns nothing where it is pinned already, the key is not in, or it changed too often; a later renewal shows it again
 */
export function decidePin(
  { record, nowMs, isFull }: PinContext,
  by: { agentKey: string; shown: MemberIssuer },
): EventDraft[] {
  const { identity, decision } = record;
  const isOwner = identity?.admittedKey === by.agentKey && decision?.approvedKey === by.agentKey;
  if (
    !isOwner ||
    identity.state !== 'admitted' ||
    (identity.member && wordsOf(identity.member) === wordsOf(by.shown))
  )
    return [];
  const today = (identity.pinnedAtMs ?? []).filter((atMs) => isRecent(atMs, { nowMs, withinMs: dayMs }));
  if (isFull || today.length >= mostPinsPerDay) return [];
  const message =
    identity.member === undefined
      ? `the issuer "${by.shown.issuer}" of the member's tokens was pinned`
      : "the keys of the member's issuer changed";
  const section = { ...identity, member: by.shown, pinnedAtMs: [...today, nowMs] };
  return [draft(pinned, record, { reason: 'MemberPinned', message, section })];
}

export async function pinMember(
  log: EventLog,
  about: { clusterId: string; agentKey: string; shown: MemberIssuer; isFull: boolean },
  trace: Trace,
): Promise<void> {
  await decideAndAppend(
    log,
    {
      gather: async () => ({
        record: clusterRecord(await log.read({ kind: 'cluster', id: about.clusterId })),
        nowMs: Date.now(),
        isFull: about.isFull,
      }),
      decide: (context) => decidePin(context, about),
    },
    trace,
  );
}
