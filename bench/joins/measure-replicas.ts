import { type JoinRounds, measureJoinRounds } from './join-rounds.ts';

/** Joins of a hub with that many processes of each service. */
export interface ReplicasResult extends JoinRounds {
  readonly replicas: number;
}

const atOnce = 100;
const replicasOf = [1, 2] as const;

/** What a second replica of every service gives, on the same cores. */
export async function measureReplicas(say: (message: string) => void): Promise<ReplicasResult[]> {
  const kinds = replicasOf.map((replicas) => ({
    name: `with ${replicas} of each service`,
    settings: { replicas },
  }));
  const found = await measureJoinRounds(kinds, atOnce, say);
  return found.map((joins, index) => ({ replicas: replicasOf[index] ?? 0, ...joins }));
}
