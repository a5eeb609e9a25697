/**
 * The agents of clusters that leave, in a process of their own: the agent's own code with its own keys and connections; only their
 * members are made up. Its first message says whom to run, and the next one that all of them ask to leave.
 */
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';

export interface LeaversSettings {
  readonly hub: readonly string[];
  readonly caPem: string;
  readonly token: string;
  readonly clusters: readonly string[];
}

/** What is said: all are members; all have left. */
export type LeaversWord = 'admitted' | 'left';

const atOnce = 64;
/** As many handshakes as one process of ours gets done: of more at once none would be in time, as if the hub were not there. */
const askedPerSecond = 250;
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

async function leave(agents: readonly SimulatedAgent[]): Promise<void> {
  // Elsewhere they would take nothing of the hub's machine.
  setPriority(constants.priority.PRIORITY_LOW);
  await Promise.all(
    agents.map(async (agent, at) => {
      await delay((at * 1000) / askedPerSecond);
      await agent.leaveHub();
    }),
  );
}

async function run(settings: LeaversSettings): Promise<void> {
  const agents = await join(settings);
  process.once('message', () => {
    void leave(agents).then(() => say('left'));
  });
  say('admitted');
}

process.once('message', (settings: LeaversSettings) => void run(settings));
process.once('disconnect', () => {
  for (const [what, count] of Object.entries(troubles))
    process.stderr.write(`[leavers] ${what}: ${count} times\n`);
  process.exit();
});
