import type { AnswerResult } from '@rollcall/shared/protocol';
import { refusalResult } from './answer.ts';
import type { Refusal } from './refusal.ts';

/**
 * What is answered, and since when that is known. The agent drops what is older than what it has heard: a "waiting" that was found
 * before the decision and is sent after it must not hide it, or the agent asks again only after half a minute (seen in a burst).
 */
export interface Reply {
  readonly result: AnswerResult;
  readonly asOfMs: number;
  /** Of a join that was not refused as it came: what it is to the hub. */
  readonly taken?: 'requested' | 'changed' | 'repeated';
}

/** Takes the time before anything is read. */
export async function asOfNow(find: () => Promise<AnswerResult>): Promise<Reply> {
  const asOfMs = Date.now();
  return { asOfMs, result: await find() };
}

/** How a join ended, as `rollcall_requests_total` counts it: what it is to the hub, or the code of its refusal. */
export function joinOutcome({ result, taken }: Reply): string {
  return taken ?? (result.kind === 'refused' ? result.code : 'repeated');
}

export function refused(refusal: Refusal): Reply {
  return { asOfMs: Date.now(), result: refusalResult(refusal) };
}
