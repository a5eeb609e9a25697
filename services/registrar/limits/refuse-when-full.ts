import type { Refusal } from '../replies/refusal.ts';

/** From this share on new requests are refused, and what is left is for what the hub has already promised (principle 12). */
const fullFrom = 0.85;

export interface GateSettings {
  readonly maxOpenRequests: number;
  readonly maxOpenRequestsPerToken: number;
}

/** What the gate knows at a moment. */
export interface GateView {
  /** 0 to 1; undefined while nobody could say. */
  readonly usedShare: number | undefined;
  readonly open: number;
  readonly openWithToken: number;
}

/** From here on nothing is stored that an agent alone asked for; what people decided, liveness and leaving go on. */
export function isFull(usedShare: number | undefined): boolean {
  return (usedShare ?? 0) >= fullFrom;
}

/**
 * Whether the hub has room for one more request. Only what is new is refused: repetitions, renewals and heartbeats go on, and
 * with space or decisions the same agent gets in by asking again.
 */
export function refuseForRoom(view: GateView, settings: GateSettings): Refusal | undefined {
  const { usedShare, open, openWithToken } = view;
  if (usedShare !== undefined && isFull(usedShare)) {
    const percent = Math.floor(usedShare * 100);
    return { code: 'HUB_FULL', message: `the disk for the events of this hub is ${percent} % full` };
  }
  if (openWithToken >= settings.maxOpenRequestsPerToken) {
    return {
      code: 'TOO_MANY_OPEN_REQUESTS',
      message: `${openWithToken} requests with this token wait for a decision`,
    };
  }
  if (open >= settings.maxOpenRequests) {
    return { code: 'TOO_MANY_OPEN_REQUESTS', message: `${open} requests wait for a decision on this hub` };
  }
  return undefined;
}
