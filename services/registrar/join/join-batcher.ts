import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend, batchOrEach } from '@rollcall/shared/decisions';
import { tokenRecord, type TokenRecord } from '@rollcall/shared/events';
import { judgeBatch, type BatchJoin, type BatchVerdict } from './join-batch.ts';
import type { JoinAttempt, JoinContext, JoinVerdict } from './join-request.ts';

/** A join that waits for its turn. */
export interface BatcherJoin {
  readonly attempt: JoinAttempt;
  readonly trace: BatchJoin['trace'];
  /** Whose record is read; undefined where the request names no token. */
  readonly tokenId: string | undefined;
}

export interface JudgedJoin {
  readonly verdict: JoinVerdict;
  readonly context: JoinContext;
}

export interface JoinBatcherOptions {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  /** @param token - read once for all that are judged together */
  gather(join: BatcherJoin, token: Promise<TokenRecord | undefined>): Promise<JoinContext>;
}

interface Waiting extends PromiseWithResolvers<JudgedJoin> {
  readonly join: BatcherJoin;
}

/** Three events of a few KB each; more in one batch only delay those that wait for its commit. */
export const mostJoinsInBatch = 32;

/** Takes from the front what can be written in one batch: one token, and no cluster, name or key twice. */
function takeBatch(queue: Waiting[]): Waiting[] {
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  const taken = new Set<string>();
  for (const one of queue.splice(0)) {
    const { attempt, tokenId } = one.join;
    const aggregates = [
      `cluster/${attempt.body.clusterId}`,
      `name/${attempt.body.clusterName}`,
      `key/${attempt.agentKey}`,
    ];
    const fits =
      batch.length < mostJoinsInBatch &&
      tokenId === (batch[0]?.join ?? one.join).tokenId &&
      !aggregates.some((aggregate) => taken.has(aggregate));
    // Also for those that stay: who comes later about the same cluster must not overtake them.
    for (const aggregate of aggregates) taken.add(aggregate);
    (fits ? batch : rest).push(one);
  }
  queue.push(...rest);
  return batch;
}

/**
 * Joins of one token take turns, because each of them moves the token on. Whoever comes while one is being written waits, and all
 * who wait are written together: with one after another 300 agents at once waited for 300 round trips, and that was the pace of
 * the whole burst (measured).
 */
export function createJoinBatcher(options: JoinBatcherOptions): {
  judge(turn: string, join: BatcherJoin): Promise<JudgedJoin>;
} {
  const { log } = options;
  const queues = new Map<string, Waiting[]>();

  async function gatherBatch(batch: readonly Waiting[]): Promise<BatchJoin[]> {
    const id = batch[0]?.join.tokenId;
    const token =
      id === undefined ? Promise.resolve(undefined) : log.read({ kind: 'token', id }).then(tokenRecord);
    return Promise.all(
      batch.map(async ({ join }) => {
        const { attempt, trace } = join;
        return { attempt, trace, context: await options.gather(join, token) };
      }),
    );
  }

  async function writeTogether(batch: readonly Waiting[]): Promise<void> {
    let judged: BatchVerdict | undefined;
    const [first] = batch;
    if (!first) return;
    const { context } = await decideAndAppend(
      log,
      {
        gather: () => gatherBatch(batch),
        decide(joins: BatchJoin[]) {
          judged = judgeBatch(joins);
          return judged.drafts;
        },
      },
      first.join.trace,
    );
    for (const [index, { resolve }] of batch.entries()) {
      const verdict = judged?.verdicts[index];
      const of = context[index];
      if (verdict && of) resolve({ verdict, context: of.context });
    }
  }

  function write(batch: readonly Waiting[]): Promise<void> {
    return batchOrEach(batch, writeTogether, (some, error) => {
      for (const { reject } of some) reject(error);
    });
  }

  async function run(turn: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await write(takeBatch(queue));
    queues.delete(turn);
  }

  return {
    judge(turn, join) {
      const waiting = { join, ...Promise.withResolvers<JudgedJoin>() };
      const queue = queues.get(turn);
      if (queue) queue.push(waiting);
      else {
        const mine = [waiting];
        queues.set(turn, mine);
        void run(turn, mine);
      }
      return waiting.promise;
    },
  };
}
