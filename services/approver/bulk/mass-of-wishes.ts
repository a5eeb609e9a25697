import { createHash } from 'node:crypto';
import {
  type AggregateRecord,
  type ClusterRecord,
  type Decision,
  draft,
  type EventDraft,
  leaving,
  wishConfirmedForMs,
  type Wishes,
  wishesConfirmed,
  wishesCounted,
  wishesHeld,
  wishesOf,
} from '@rollcall/shared/events';
import { cutText } from '@rollcall/shared/text';

const minuteMs = 60_000;
const secondMs = 1000;
/** More than these wait unlisted, and are listed after the first ones were confirmed: an event has a largest size. */
export const mostListed = 300;
/** The same of what was confirmed and is not acted on yet: both lists are in one event. */
export const mostConfirmed = 300;
/** An account of the hub's API server may have any name; of a longer one the list shows this much, in bytes of JSON. */
export const longestPerson = 128;

function shownPerson(name: string): string {
  let shown = cutText(name, longestPerson);
  // A control character takes six bytes, and one of another script up to four.
  while (Buffer.byteLength(JSON.stringify(shown)) > longestPerson + '""'.length)
    shown = cutText(shown, shown.length - 1);
  return shown;
}

/** What people may put out within a minute: a number, or a share of the fleet where that is more. */
export interface WishLimit {
  readonly perMinute: number;
  /** 0 to 1. */
  readonly share: number;
}

export function limitOf({ perMinute, share }: WishLimit, clusters: number): number {
  return Math.max(perMinute, Math.floor(share * clusters));
}

function withinMinute(recent: Wishes['recent'], nowMs: number): Wishes['recent'] {
  return recent.filter(({ atMs }) => atMs > nowMs - minuteMs);
}

export function countRecent(record: AggregateRecord, nowMs: number): number {
  return withinMinute(wishesOf(record).recent, nowMs).reduce((sum, { count }) => sum + count, 0);
}

function counted(recent: Wishes['recent'], nowMs: number): Wishes['recent'] {
  const atMs = Math.floor(nowMs / secondMs) * secondMs;
  const inThisSecond = recent.find((second) => second.atMs === atMs)?.count ?? 0;
  return [...recent.filter((second) => second.atMs !== atMs), { atMs, count: inThisSecond + 1 }];
}

/** Whether a member loses what it has: it leaves, or its key is in no more. */
export function putsOut({ decision }: Pick<ClusterRecord, 'decision'>, wish: EventDraft): boolean {
  const { approvedKey } = wish.section as Decision;
  if (wish.definition === leaving) return decision?.verdict !== 'leaving';
  return decision?.approvedKey !== undefined && decision.approvedKey !== approvedKey;
}

type MassWish = NonNullable<Wishes['held']>['wishes'][number];

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The wish itself, without when it was decided: looked at again, it is the same one. */
function describeWish({ aggregate, definition, by, reason, section }: EventDraft): MassWish {
  const { clusterName, key, leavingUid, wishes, actedOn } = section as Decision;
  const words = [definition.type, reason, key, leavingUid, wishes?.at(-1), actedOn];
  return {
    clusterId: aggregate.id,
    clusterName,
    wish: digest(words).slice(0, 16),
    type: definition.type,
    person: shownPerson(by?.person ?? 'unknown'),
  };
}

export interface MassContext {
  /** What would follow if it were the only one. */
  readonly wish: EventDraft;
  /** Of `wishesAggregate`. */
  readonly wishes: AggregateRecord;
  readonly limit: number;
  readonly nowMs: number;
}

/**
 * Lets a wish that puts a member out pass and counts it, or holds it because there are too many (principle 6). What is held
 * stays held until a person confirms it, also when the minute is over.
 */
export function passOrHold({ wish, wishes, limit, nowMs }: MassContext): EventDraft[] {
  const state = wishesOf(wishes);
  const mine = describeWish(wish);
  const isMine = (other: MassWish) => other.clusterId === mine.clusterId && other.wish === mine.wish;
  const recent = withinMinute(state.recent, nowMs);
  const by = { service: 'approver' };
  // The wish last: whoever hears the first of a batch and reads at once does not find it yet.
  const count = (section: Wishes): EventDraft[] => [
    draft(wishesCounted, wishes, {
      by,
      reason: 'WishCounted',
      message: `cluster "${mine.clusterName}"`,
      section,
    }),
    wish,
  ];
  const confirmed = state.confirmed?.wishes.filter((other) => !isMine(other)) ?? [];
  if (state.confirmed && confirmed.length < state.confirmed.wishes.length) {
    if (nowMs - state.confirmed.atMs < wishConfirmedForMs)
      return count({ ...state, recent, confirmed: { ...state.confirmed, wishes: confirmed } });
  }
  const listed = state.held?.wishes ?? [];
  if (listed.some(isMine)) return [];
  const isFew = recent.reduce((sum, second) => sum + second.count, 0) < limit;
  if (isFew) return count({ ...state, recent: counted(recent, nowMs) });
  if (listed.length >= mostListed) return [];
  const all = [...listed, mine];
  const id = `w-${digest(all).slice(0, 10)}`;
  const message = `${all.length} wishes that put members out wait: more than ${limit} within a minute; rollcall confirm ${id}`;
  const section = { ...state, recent, held: { id, limit, wishes: all } };
  return [draft(wishesHeld, wishes, { by, reason: 'WishesHeld', message, section })];
}

/** What a person wrote to have the held wishes acted on. */
export interface Confirmation {
  readonly id: string;
  readonly by: string;
}

export interface ConfirmationContext {
  readonly wishes: AggregateRecord;
  readonly confirmation: Confirmation;
  readonly nowMs: number;
}

/** What was confirmed before and still counts. */
function confirmedBefore({ confirmed }: Wishes, nowMs: number): readonly MassWish[] {
  return confirmed && nowMs - confirmed.atMs < wishConfirmedForMs ? confirmed.wishes : [];
}

/** Whether a confirmation is good and cannot be taken yet: what was confirmed before is acted on first. */
export function confirmationWaits({ wishes, confirmation, nowMs }: ConfirmationContext): boolean {
  const state = wishesOf(wishes);
  const { held } = state;
  if (held?.id !== confirmation.id) return false;
  const before = confirmedBefore(state, nowMs).length;
  return before > 0 && before + held.wishes.length > mostConfirmed;
}

/**
 * Confirms exactly the list that the id names; when another wish has joined it, the person looks again. Nothing follows while it has
 * to wait.
 */
export function decideConfirmation(context: ConfirmationContext): EventDraft[] {
  const { wishes, confirmation, nowMs } = context;
  const { held, confirmed, ...state } = wishesOf(wishes);
  if (held?.id !== confirmation.id || confirmationWaits(context)) return [];
  const before = confirmedBefore({ ...state, confirmed }, nowMs);
  const section = { ...state, confirmed: { atMs: nowMs, wishes: [...before, ...held.wishes] } };
  const message = `${confirmation.by} confirms ${held.wishes.length} wishes`;
  const by = { person: confirmation.by };
  return [draft(wishesConfirmed, wishes, { by, reason: 'WishesConfirmed', message, section })];
}
