import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend, togetherOrEach } from '@rollcall/shared/decisions';
import { tokenRecord, type TokenRecord } from '@rollcall/shared/events';
import { judgeLot, type LotJoin, type LotVerdict } from './join-lot.ts';
import type { JoinAttempt, JoinContext, JoinVerdict } from './join-request.ts';

/** A join that waits for its turn. */
export interface TurnJoin {
  readonly attempt: JoinAttempt;
  readonly trace: LotJoin['trace'];
  /** Whose record is read; undefined where the request names no token. */
  readonly tokenId: string | undefined;
}

export interface JudgedJoin {
  readonly verdict: JoinVerdict;
  readonly context: JoinContext;
}

export interface JoinTurnsOptions {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  /** @param token - read once for all that are judged together */
  gather(join: TurnJoin, token: Promise<TokenRecord | undefined>): Promise<JoinContext>;
}

interface Waiting extends PromiseWithResolvers<JudgedJoin> {
  readonly join: TurnJoin;
}

/** Three events of a few KB each; more in one batch only delay those that wait for its commit. */
export const mostJoinsTogether = 32;

/** Takes from the front what can be written in one batch: one token, and no cluster, name or key twice. */
function takeLot(queue: Waiting[]): Waiting[] {
  const lot: Waiting[] = [];
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
      lot.length < mostJoinsTogether &&
      tokenId === (lot[0]?.join ?? one.join).tokenId &&
      !aggregates.some((aggregate) => taken.has(aggregate));
    // Also for those that stay: who comes later about the same cluster must not overtake them.
    for (const aggregate of aggregates) taken.add(aggregate);
    (fits ? lot : rest).push(one);
  }
  queue.push(...rest);
  return lot;
}

/**
 * Joins of one token take turns, because each of them moves the token on. Whoever comes while one is being written waits, and all
 * who wait are written together: with one after another 300 agents at once waited for 300 round trips, and that was the pace of
 * the whole burst (measured).
 */
export function createJoinTurns(options: JoinTurnsOptions): {
  judge(turn: string, join: TurnJoin): Promise<JudgedJoin>;
} {
  const { log } = options;
  const queues = new Map<string, Waiting[]>();

  async function gatherLot(lot: readonly Waiting[]): Promise<LotJoin[]> {
    const id = lot[0]?.join.tokenId;
    const token =
      id === undefined ? Promise.resolve(undefined) : log.read({ kind: 'token', id }).then(tokenRecord);
    return Promise.all(
      lot.map(async ({ join }) => {
        const { attempt, trace } = join;
        return { attempt, trace, context: await options.gather(join, token) };
      }),
    );
  }

  async function writeTogether(lot: readonly Waiting[]): Promise<void> {
    let judged: LotVerdict | undefined;
    const [first] = lot;
    if (!first) return;
    const { context } = await decideAndAppend(
      log,
      {
        gather: () => gatherLot(lot),
        decide(joins: LotJoin[]) {
          judged = judgeLot(joins);
          return judged.drafts;
        },
      },
      first.join.trace,
    );
    for (const [index, { resolve }] of lot.entries()) {
      const verdict = judged?.verdicts[index];
      const of = context[index];
      if (verdict && of) resolve({ verdict, context: of.context });
    }
  }

  function write(lot: readonly Waiting[]): Promise<void> {
    return togetherOrEach(lot, writeTogether, (some, error) => {
      for (const { reject } of some) reject(error);
    });
  }

  async function run(turn: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await write(takeLot(queue));
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
