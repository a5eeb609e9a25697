import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend, batchOrEach } from '@rollcall/shared/decisions';
import type { JoinAttempt } from './join-attempt.ts';
import { judgeBatch, type JudgedJoin } from './join-batch.ts';
import type { GatheredJoin } from './join-case.ts';

export interface JoinBatcherOptions {
  readonly log: Pick<EventLog, 'append'>;
  /** Reads what attempts with one token are judged by, in their order. */
  gather(attempts: readonly JoinAttempt[]): Promise<GatheredJoin[]>;
}

interface Waiting extends PromiseWithResolvers<JudgedJoin> {
  readonly attempt: JoinAttempt;
}

/** Three events of a few KB each; more in one batch only delay those that wait for its commit. */
export const mostJoinsInBatch = 32;

/** Only who holds the token waits with its other holders: anybody can name it. */
export function turnOf({ tokenProven, agentKey, body: { tokenKey } }: JoinAttempt): string {
  return tokenProven && tokenKey !== undefined ? tokenKey : agentKey;
}

/** Takes from the front what can be written in one batch: one token, and no cluster, name or key twice. */
function takeBatch(queue: Waiting[]): Waiting[] {
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  const taken = new Set<string>();
  for (const one of queue.splice(0)) {
    const { agentKey, tokenId, body } = one.attempt;
    const aggregates = [`cluster/${body.clusterId}`, `name/${body.clusterName}`, `key/${agentKey}`];
    const fits =
      batch.length < mostJoinsInBatch &&
      tokenId === (batch[0] ?? one).attempt.tokenId &&
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
export function createJoinBatcher({ log, gather }: JoinBatcherOptions): {
  /** @returns when what follows from the attempt is written */
  judge(attempt: JoinAttempt): Promise<JudgedJoin>;
} {
  const queues = new Map<string, Waiting[]>();

  async function writeTogether(batch: readonly Waiting[]): Promise<void> {
    const attempts = batch.map(({ attempt }) => attempt);
    const [first] = attempts;
    if (!first) return;
    let judged: readonly JudgedJoin[] = [];
    await decideAndAppend(
      log,
      {
        gather: () => gather(attempts),
        decide(gathered: GatheredJoin[]) {
          const { joins, drafts } = judgeBatch(gathered);
          judged = joins;
          return drafts;
        },
      },
      first.trace,
    );
    for (const [index, { resolve }] of batch.entries()) {
      const join = judged[index];
      if (join) resolve(join);
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
    judge(attempt) {
      const waiting = { attempt, ...Promise.withResolvers<JudgedJoin>() };
      const turn = turnOf(attempt);
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
