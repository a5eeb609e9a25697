import { RollcallError } from '@rollcall/shared/errors';
import { keyFingerprint } from '@rollcall/shared/trust';
import type { Connection, SystemAccount } from './system-account.ts';

/** Rounds of looking and kicking; a kicked client may be back in a moment, on a new connection. */
const mostRounds = 5;

export interface EndingWorld {
  readonly system: Pick<SystemAccount, 'connectionsOfEach' | 'kick'>;
  /** Public key of the account AGENTS. */
  readonly account: string;
  onKick?(): void;
}

/**
 * Ends the connections of keys that the server let be: those whom the callout let in are known by name, and their JWT is
 * not one that a revocation names. Who comes back through the callout is the registrar's to judge.
 * @returns the keys that still have one of these connections, and how many
 */
async function endAll(
  { system, account, onKick }: EndingWorld,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly Connection[]>> {
  const before = await system.connectionsOfEach(account, keys);
  let left = before;
  for (let round = 1; left.size > 0 && round <= mostRounds; round++) {
    await Promise.all([...left.values()].flat().map((connection) => system.kick(connection)));
    onKick?.();
    const now = await system.connectionsOfEach(account, [...left.keys()]);
    const old = [...now].map(([key, connections]) => {
      const isOld = ({ serverId, cid }: Connection) =>
        before.get(key)?.some((one) => one.serverId === serverId && one.cid === cid) === true;
      return [key, connections.filter(isOld)] as const;
    });
    left = new Map(old.filter(([, connections]) => connections.length > 0));
  }
  return left;
}

/**
 * Ends connections of keys that the servers refuse. All that are asked for while a batch is under way are the next one, so that
 * a fleet that leaves at once is one list of connections, and not thousands of questions.
 * @returns a function that returns once the key has none of the connections that it had
 * @throws (the returned function) RollcallError KEY_NOT_CUT, CLAIMS_NOT_APPLIED
 */
export function createConnectionEnder(world: EndingWorld): (key: string) => Promise<void> {
  let next: Map<string, PromiseWithResolvers<void>> = new Map();
  let isRunning = false;

  async function endBatch(batch: ReadonlyMap<string, PromiseWithResolvers<void>>): Promise<void> {
    try {
      const left = await endAll(world, [...batch.keys()]);
      for (const [key, { resolve, reject }] of batch) {
        const count = left.get(key)?.length ?? 0;
        const message = `${count} connections of the key ${keyFingerprint(key)} are still there`;
        if (count > 0) reject(new RollcallError('KEY_NOT_CUT', message));
        else resolve();
      }
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    }
  }

  async function run(): Promise<void> {
    isRunning = true;
    // Those that are asked for in the same moment are one batch.
    await Promise.resolve();
    while (next.size > 0) {
      const batch = next;
      next = new Map();
      await endBatch(batch);
    }
    isRunning = false;
  }

  return (key) => {
    const known = next.get(key) ?? Promise.withResolvers<void>();
    next.set(key, known);
    if (!isRunning) void run();
    return known.promise;
  };
}
