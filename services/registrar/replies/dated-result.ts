import type { ReplyResult } from '@rollcall/shared/protocol';
import { refusalResult } from './reply.ts';
import type { Refusal } from './refusal.ts';

/**
 * What is answered, and since when that is known. The agent drops what is older than what it has heard: a "waiting" that was found
 * before the decision and is sent after it must not hide it, or the agent asks again only after half a minute (seen in a burst).
 */
export interface DatedResult {
  readonly result: ReplyResult;
  readonly asOfMs: number;
  /** Of a join that was not refused as it came: what it is to the hub. */
  readonly taken?: 'requested' | 'changed' | 'repeated';
}

/** Takes the time before anything is read. */
export async function asOfNow(find: () => Promise<ReplyResult>): Promise<DatedResult> {
  const asOfMs = Date.now();
  return { asOfMs, result: await find() };
}

/** How a join ended, as `rollcall_requests_total` counts it: what it is to the hub, or the code of its refusal. */
export function joinOutcome({ result, taken }: DatedResult): string {
  return taken ?? (result.kind === 'refused' ? result.code : 'repeated');
}

export function refused(refusal: Refusal): DatedResult {
  return { asOfMs: Date.now(), result: refusalResult(refusal) };
}
