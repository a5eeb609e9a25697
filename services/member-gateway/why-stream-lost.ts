import { aliveEveryMs, deadAfterMs } from '@rollcall/shared/tunnel';

/**
 * Whether a stream has lost the agent at its other end: pure.
 * @param options - `heardAtMs`: when the agent was heard last, of any stream; `isThere`: whether the agent, which has just said which
 *   streams it has, named this one
 * @returns why it ends; never for what the agent has said in full, which a slow client still reads when the agent has long closed it
 */
export function whyLost(
  {
    openedAtMs,
    hasHeard,
    end,
  }: {
    readonly openedAtMs: number;
    readonly hasHeard: boolean;
    readonly end: { readonly hasHeardAll: boolean };
  },
  options: { readonly nowMs: number; readonly heardAtMs?: number | undefined; readonly isThere?: boolean },
): string | undefined {
  if (end.hasHeardAll) return undefined;
  const { nowMs, heardAtMs = openedAtMs, isThere } = options;
  if (isThere === undefined) {
    const silentMs = nowMs - (hasHeard ? Math.max(openedAtMs, heardAtMs) : openedAtMs);
    return silentMs > deadAfterMs ? 'the agent does not answer' : undefined;
  }
  const isOld = nowMs - openedAtMs > 2 * aliveEveryMs;
  return hasHeard && isOld && !isThere ? 'the agent has this stream no more' : undefined;
}
