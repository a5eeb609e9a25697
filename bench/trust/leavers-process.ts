/**
 * The agents of clusters that leave, in a process of their own: the agent's own code with its own keys and connections; only their
 * members are made up. Its first message says whom to run, and the next one that all of them ask to leave.
 */
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { inParallel } from '../../cli/simulate/in-parallel.ts';

export interface LeaversSettings {
  readonly hub: readonly string[];
  readonly caPem: string;
  readonly token: string;
  readonly clusters: readonly string[];
}

/** What is said: all are members; all have left. */
export type LeaversWord = 'admitted' | 'left';

const atOnce = 64;
const troubles: Record<string, number> = {};
const onTrouble = (what: string) => void (troubles[what] = (troubles[what] ?? 0) + 1);
const say = (word: LeaversWord) => void process.send?.(word);

async function join({ clusters, ...options }: LeaversSettings): Promise<SimulatedAgent[]> {
  return inParallel(clusters, atOnce, async (cluster) => {
    const agent = startSimulatedAgent({ ...options, cluster, onTrouble });
    await agent.admitted;
    return agent;
  });
}

async function run(settings: LeaversSettings): Promise<void> {
  const agents = await join(settings);
  process.once('message', () => {
    void Promise.all(agents.map((agent) => agent.leaveHub())).then(() => say('left'));
  });
  say('admitted');
}

process.once('message', (settings: LeaversSettings) => void run(settings));
process.once('disconnect', () => {
  for (const [what, count] of Object.entries(troubles))
    process.stderr.write(`[leavers] ${what}: ${count} times\n`);
  process.exit();
});
