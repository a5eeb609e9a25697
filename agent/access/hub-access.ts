import { toRollcallError } from '@rollcall/shared/errors';
import type { Reply, ReplyResult } from '@rollcall/shared/protocol/reply';
import type { Logger } from '@rollcall/shared/service';
import type { Xkey } from '@rollcall/shared/trust/keys';
import type { RequestContent } from '../protocol/request-message.ts';
import { fullJitterMs } from '../hub/back-off.ts';
import { hubKubeconfig, openAccessBox } from './hub-kubeconfig.ts';
import type { HubAccessStore } from './hub-access-store.ts';
import { type HubAccessInput, nextHubAccess, noHubAccess } from './hub-access-time.ts';
import { answeredRefusal, refusalDetail } from '../protocol/refusal-for-people.ts';
import type { OnPhase } from '../protocol/phase.ts';

const writeBackOff = { firstMs: 1000, longestMs: 600_000 };

export interface HubAccessOptions {
  readonly clusterId: string;
  /** What the hub seals to it, only this agent can open. */
  readonly sealingKey: Pick<Xkey, 'publicKey' | 'open'>;
  readonly store: HubAccessStore;
  readonly longestMs: number;
  /** It was a member before this run, so nobody will tell it what it may have. */
  readonly isKnown: boolean;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** @returns the id of the request, or undefined while there is no member connection to send it over */
  send(content: RequestContent): string | undefined;
}

/** Access of this member to the hub's API server, where a policy grants it: asked for, renewed ahead, and removed. */
export interface HubAccess {
  /** What a reply to another request, or news, says about it. */
  learn(reply: Pick<Reply, 'result' | 'atMs'>, heard?: { isToLast: boolean }): void;
  /** A reply on the subject of verb `access`. */
  hear(reply: Reply): void;
  /** A member connection is there, one of a fleet that returns within that time. */
  connected(returnWithinMs: number): void;
  /** The cluster leaves: nothing is asked or written any more. Resolves when the last write is done. */
  stop(): Promise<void>;
}

/** Refusals that say: you are no member. All others are trouble, and no reason to take away what works. */
const isOut = (code: string) => code.startsWith('CLUSTER_');

/** What a reply says that the cluster may have; undefined when it says nothing about it. */
function accessSaid(result: ReplyResult): 'None' | 'Namespace' | undefined {
  switch (result.kind) {
    case 'admitted':
    case 'access':
      return result.access;
    case 'waiting':
      return 'None';
    case 'refused':
      return isOut(result.code) ? 'None' : undefined;
    case 'leave':
    case 'rotated':
    case 'done':
      return undefined;
  }
}

export function createHubAccess(options: HubAccessOptions): HubAccess {
  const { clusterId, sealingKey, store, onPhase, logger, signal } = options;
  let plan = options.isKnown ? { ...noHubAccess, requestAtMs: Date.now() } : noHubAccess;
  let requestId: string | undefined;
  /** Whether the hub has said something of access since that was sent: its answer may be older. */
  let isSaidSince = false;
  let timer: NodeJS.Timeout | undefined;
  /** Whether it should be there; unknown after a start: an earlier run may have left one. */
  let isWanted: boolean | undefined;
  let isThere: boolean | undefined;
  /** One after the other: what was decided last stands in the end. */
  let writing: Promise<void> = Promise.resolve();
  let newest = 0;
  let resume: (() => void) | undefined;
  let isStopped = false;
  let wasConnected = false;

  function step(input: HubAccessInput): void {
    plan = nextHubAccess(plan, input, {
      nowMs: Date.now(),
      random: Math.random(),
      longestMs: options.longestMs,
    });
    askWhenDue();
  }

  function askWhenDue(): void {
    clearTimeout(timer);
    if (plan.requestAtMs === undefined || isStopped || signal.aborted) return;
    timer = setTimeout(sendRequest, Math.max(0, plan.requestAtMs - Date.now()));
    timer.unref();
  }

  function sendRequest(): void {
    if (isStopped || signal.aborted) return;
    const id = options.send({ verb: 'access', body: { clusterId, sealTo: sealingKey.publicKey } });
    // Without a connection nothing is due: the next one brings it up again.
    if (id === undefined) return;
    requestId = id;
    isSaidSince = false;
    step({ kind: 'asked' });
  }

  function pause(forMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, forMs).unref();
    resume = resolve;
    return promise;
  }

  async function writeAfter(
    before: Promise<void>,
    work: () => Promise<void>,
    failure: string,
  ): Promise<void> {
    const number = ++newest;
    const isDue = () => !isStopped && number === newest;
    await before;
    // The next token comes in an hour, and the last one ends before: nobody would have access until then.
    for (let failures = 1; isDue(); failures++) {
      try {
        return await work();
      } catch (thrown) {
        const delayMs = fullJitterMs(writeBackOff, failures, Math.random());
        logger.error({ err: toRollcallError(thrown), delayMs }, failure);
        await pause(delayMs);
      }
    }
  }

  function write(work: () => Promise<void>, failure: string): void {
    writing = writeAfter(writing, work, failure);
    // What is waited for is out of date.
    resume?.();
  }

  function keep(kubeconfig: string, namespace: string): void {
    isWanted = true;
    write(async () => {
      await store.write({ kubeconfig, namespace });
      const message = `kubeconfig for namespace "${namespace}" of the hub ${isThere ? 'renewed' : 'written'}: ${store.place}`;
      onPhase({ phase: 'access', message, detail: { clusterId } });
      isThere = true;
    }, 'the kubeconfig for the hub could not be written');
  }

  function remove(): void {
    if (isWanted === false) return;
    isWanted = false;
    write(async () => {
      await store.remove();
      const wasThere = isThere;
      isThere = false;
      if (!wasThere) return;
      const message = `access to the hub was withdrawn; removed: ${store.place}`;
      onPhase({ phase: 'access', message, detail: { clusterId } });
    }, 'the kubeconfig for the hub could not be removed');
  }

  function learn({ result, atMs }: Pick<Reply, 'result' | 'atMs'>, { isToLast } = { isToLast: false }): void {
    const access = accessSaid(result);
    // A clock of the hub has been set back (joining.ts).
    if (isToLast && atMs < plan.heardAtHubMs) plan = { ...plan, heardAtHubMs: atMs };
    if (access === undefined || isStopped || atMs < plan.heardAtHubMs) return;
    isSaidSince = true;
    step({ kind: 'told', access, atHubMs: atMs, isFresh: result.kind === 'admitted' });
    if (access === 'None') remove();
  }

  function hear(reply: Reply): void {
    const { result, atMs, inReplyTo } = reply;
    learn(reply, { isToLast: inReplyTo === requestId && !isSaidSince });
    if (result.kind === 'refused' && inReplyTo === requestId) {
      step({ kind: 'refused', retryAfterMs: result.retryAfterMs });
      const refusal = answeredRefusal(result);
      const retryInMs = Math.max(0, (plan.requestAtMs ?? 0) - Date.now());
      onPhase({ phase: 'access', message: refusal.message, detail: refusalDetail(refusal, retryInMs) });
    }
    if (result.kind !== 'access' || !result.sealed || requestId === undefined) return;
    // Withdrawn by something newer than this reply.
    if (plan.access !== 'Namespace') return;
    const box = openAccessBox(result.sealed, sealingKey, { requestId, clusterId });
    if (!box) return void logger.warn({ clusterId }, 'the hub sealed something else than was asked for');
    requestId = undefined;
    step({ kind: 'given', atHubMs: atMs, expiresAtHubMs: box.expiresAtMs });
    keep(hubKubeconfig(box), box.namespace);
  }

  return {
    learn,
    hear,
    connected(returnWithinMs) {
      // The first time its admission said it, or it is about to ask.
      if (wasConnected) step({ kind: 'returned', returnWithinMs });
      else askWhenDue();
      wasConnected = true;
    },
    stop() {
      isStopped = true;
      resume?.();
      clearTimeout(timer);
      return writing;
    },
  };
}
