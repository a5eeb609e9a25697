import type { Condition } from '@rollcall/shared/resources';
import { cutText } from '@rollcall/shared/text';
import { hubTime } from './hub-time.ts';

/** What the API server takes of a message; a longer one would keep the whole status from being written. */
export const longestMessage = 4096;

/** What one question was answered with, before it is known when the answer last changed. */
export interface Judged {
  readonly type: string;
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
  /** Hub time in ms of the event that the answer follows from. */
  readonly atMs: number;
}

/**
 * The list as Kubernetes wants it. lastTransitionTime stays while the status stays, whatever happens to reason and message.
 * @param before - what the object shows now; a missing object gets the times of the events
 */
export function conditionList(
  judged: readonly Judged[],
  before: readonly Condition[],
  generation: number | undefined,
): Condition[] {
  return judged.map(({ type, status, reason, message, atMs }) => {
    const old = before.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: cutText(message, longestMessage),
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : hubTime(atMs),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  });
}
