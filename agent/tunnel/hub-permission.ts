import type { AgentRefusal } from '@rollcall/shared/tunnel';

/** Why nobody gets in, as the person is told. */
export interface HubRefusal {
  readonly refused: AgentRefusal;
  readonly why: string;
}

/** What the hub says of people who want to get into this member: it may have shut it, whatever its owner allows. */
export interface HubPermission {
  /** A connection came after one that was lost: what the hub said meanwhile was not heard. */
  forget(): void;
  /**
   * The hub said so, signed, at that time of its own.
   * @param said.isAskedSince - to a request that was sent after its last word: newer than that, whatever it says of the time
   */
  learn(said: { readonly isShut: boolean; readonly atHubMs: number; readonly isAskedSince?: boolean }): void;
  /**
   * Asks the hub where it has said nothing over this connection; never rejects.
   * @returns why nobody gets in; undefined: people do
   */
  refusal(): Promise<HubRefusal | undefined>;
  /** The same by what is known at this moment. */
  refusalNow(): HubRefusal | undefined;
}

const shut: HubRefusal = {
  refused: 'off',
  why: 'access to this cluster is shut on its hub (spec.memberAccess: Denied); who has managedclusters/accept opens it',
};
/** It may say so in a moment, and clients try such a request again by themselves. */
const unsaid: HubRefusal = {
  refused: 'busy',
  why: 'the hub does not say whether people may get in; try again',
};

/**
 * Kept for as long as a connection lasts, and asked for by the first request after it: an agent that was away when somebody shut its
 * cluster lets nobody in before it has heard so.
 * @param hub.ask - has the hub say it
 * @param hub.answersWithinMs - so long a request waits for that, and so long the hub is not asked again
 */
export function createHubPermission(hub: {
  ask(): void;
  onShut(why: string): void;
  readonly answersWithinMs?: number;
}): HubPermission {
  let last: { readonly isShut: boolean } | undefined;
  /** Of all that was heard, over lost connections too: an older word may come late, or be said again by somebody else. */
  let newestHubMs = -Infinity;
  let asking: { readonly promise: Promise<void>; resolve(): void } | undefined;

  function answerOf(): Promise<void> {
    if (asking) return asking.promise;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, hub.answersWithinMs ?? 5000);
    timer.unref();
    const asked = { promise, resolve };
    asking = asked;
    void promise.finally(() => {
      clearTimeout(timer);
      if (asking === asked) asking = undefined;
    });
    hub.ask();
    return promise;
  }

  function refusalNow(): HubRefusal | undefined {
    if (last === undefined) return unsaid;
    return last.isShut ? shut : undefined;
  }

  return {
    forget() {
      last = undefined;
    },
    learn(said) {
      const { isShut, atHubMs, isAskedSince = false } = said;
      // Replies may overtake each other. In doubt it is shut, until the hub says something newer.
      if (!isShut && !isAskedSince && atHubMs < newestHubMs) return;
      // A clock of the hub has been set back (joining.ts).
      newestHubMs = isAskedSince ? atHubMs : Math.max(newestHubMs, atHubMs);
      const wasShut = last?.isShut;
      last = said;
      asking?.resolve();
      if (isShut && wasShut !== true) hub.onShut(shut.why);
    },
    async refusal() {
      if (last === undefined) await answerOf();
      return refusalNow();
    },
    refusalNow,
  };
}
