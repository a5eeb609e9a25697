import { createHash } from 'node:crypto';
import {
  type AggregateRecord,
  type ClusterRecord,
  type Decision,
  draft,
  type EventDraft,
  isRecent,
  leaving,
  bulkConfirmedForMs,
  type BulkChanges,
  bulkConfirmed,
  bulkCounted,
  bulkHeld,
  bulkOf,
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
export interface BulkLimit {
  readonly perMinute: number;
  /** 0 to 1. */
  readonly share: number;
}

export function limitOf({ perMinute, share }: BulkLimit, clusters: number): number {
  return Math.max(perMinute, Math.floor(share * clusters));
}

function withinMinute(recent: BulkChanges['recent'], nowMs: number): BulkChanges['recent'] {
  return recent.filter(({ atMs }) => isRecent(atMs, { nowMs, withinMs: minuteMs }));
}

export function countRecent(record: AggregateRecord, nowMs: number): number {
  return withinMinute(bulkOf(record).recent, nowMs).reduce((sum, { count }) => sum + count, 0);
}

/** What people did, and of what services say (floods) none of it: whoever makes floods up uses up no limit of people. */
const ofPeople = ({ count, ofPeople: own = count }: BulkChanges['recent'][number]): number => own;

function counted(recent: BulkChanges['recent'], isPerson: boolean, nowMs: number): BulkChanges['recent'] {
  const atMs = Math.floor(nowMs / secondMs) * secondMs;
  const before = recent.find((second) => second.atMs === atMs) ?? { atMs, count: 0 };
  const now = { atMs, count: before.count + 1, ofPeople: ofPeople(before) + (isPerson ? 1 : 0) };
  return [...recent.filter((second) => second.atMs !== atMs), now];
}

/** Whether a member loses what it has: it leaves, or its key is in no more. */
export function putsOut({ decision }: Pick<ClusterRecord, 'decision'>, operation: EventDraft): boolean {
  const { approvedKey } = operation.section as Decision;
  if (operation.definition === leaving) return decision?.verdict !== 'leaving';
  return decision?.approvedKey !== undefined && decision.approvedKey !== approvedKey;
}

type BulkOperation = NonNullable<BulkChanges['held']>['operations'][number];

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The operation itself, without when it was decided: looked at again, it is the same one. */
function describeOperation({ aggregate, definition, by, reason, section }: EventDraft): BulkOperation {
  const { clusterName, key, leavingUid, operations, actedOn } = section as Decision;
  const words = [definition.type, reason, key, leavingUid, operations?.at(-1), actedOn];
  return {
    clusterId: aggregate.id,
    clusterName,
    digest: digest(words).slice(0, 16),
    type: definition.type,
    person: shownPerson(by?.person ?? 'unknown'),
  };
}

export interface BulkContext {
  /** What would follow if it were the only one. */
  readonly operation: EventDraft;
  /** Of `bulkAggregate`. */
  readonly bulk: AggregateRecord;
  readonly limit: number;
  readonly nowMs: number;
}

/**
 * Lets an operation that puts a member out pass and counts it, or holds it because there are too many (principle 6). What is held
 * stays held until a person confirms it, also when the minute is over.
 */
export function passOrHold({ operation, bulk, limit, nowMs }: BulkContext): EventDraft[] {
  const state = bulkOf(bulk);
  const mine = describeOperation(operation);
  const isMine = (other: BulkOperation) => other.clusterId === mine.clusterId && other.digest === mine.digest;
  const recent = withinMinute(state.recent, nowMs);
  const by = { service: 'approver' };
  // The operation last: whoever hears the first of a batch and reads at once does not find it yet.
  const count = (section: BulkChanges): EventDraft[] => [
    draft(bulkCounted, bulk, {
      by,
      reason: 'BulkCounted',
      message: `cluster "${mine.clusterName}"`,
      section,
    }),
    operation,
  ];
  const confirmed = state.confirmed?.operations.filter((other) => !isMine(other)) ?? [];
  if (state.confirmed && confirmed.length < state.confirmed.operations.length) {
    if (isRecent(state.confirmed.atMs, { nowMs, withinMs: bulkConfirmedForMs }))
      return count({ ...state, recent, confirmed: { ...state.confirmed, operations: confirmed } });
  }
  const listed = state.held?.operations ?? [];
  if (listed.some(isMine)) return [];
  const isPerson = operation.by?.person !== undefined;
  const isFew = recent.reduce((sum, second) => sum + (isPerson ? ofPeople(second) : second.count), 0) < limit;
  if (isFew) return count({ ...state, recent: counted(recent, isPerson, nowMs) });
  if (listed.length >= mostListed) return [];
  const all = [...listed, mine];
  const id = `b-${digest(all).slice(0, 10)}`;
  const message = `${all.length} operations that put members out wait: more than ${limit} within a minute; rollcall confirm ${id}`;
  const section = { ...state, recent, held: { id, limit, operations: all } };
  return [draft(bulkHeld, bulk, { by, reason: 'BulkHeld', message, section })];
}

/** What a person wrote to have the held operations acted on. */
export interface Confirmation {
  readonly id: string;
  readonly by: string;
}

export interface ConfirmationContext {
  readonly bulk: AggregateRecord;
  readonly confirmation: Confirmation;
  readonly nowMs: number;
}

/** What was confirmed before and still counts. */
function confirmedBefore({ confirmed }: BulkChanges, nowMs: number): readonly BulkOperation[] {
  const stillCounts = confirmed && isRecent(confirmed.atMs, { nowMs, withinMs: bulkConfirmedForMs });
  return stillCounts ? confirmed.operations : [];
}

/** Whether a confirmation is good and cannot be taken yet: what was confirmed before is acted on first. */
export function confirmationWaits({ bulk, confirmation, nowMs }: ConfirmationContext): boolean {
  const state = bulkOf(bulk);
  const { held } = state;
  if (held?.id !== confirmation.id) return false;
  const before = confirmedBefore(state, nowMs).length;
  return before > 0 && before + held.operations.length > mostConfirmed;
}

/**
 * Confirms exactly the list that the id names; when another operation has joined it, the person looks again. Nothing follows while it has
 * to wait.
 */
export function decideConfirmation(context: ConfirmationContext): EventDraft[] {
  const { bulk, confirmation, nowMs } = context;
  const { held, confirmed, ...state } = bulkOf(bulk);
  if (held?.id !== confirmation.id || confirmationWaits(context)) return [];
  const before = confirmedBefore({ ...state, confirmed }, nowMs);
  const section = { ...state, confirmed: { atMs: nowMs, operations: [...before, ...held.operations] } };
  const message = `${confirmation.by} confirms ${held.operations.length} operations`;
  const by = { person: confirmation.by };
  return [draft(bulkConfirmed, bulk, { by, reason: 'BulkConfirmed', message, section })];
}
