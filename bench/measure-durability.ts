import type { KubeClient } from '@rollcall/shared/kubernetes';
import { serviceRoles } from '@rollcall/shared/rights';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { type Spread, spreadOf } from '../cli/simulate/quantile.ts';
import { makeToken } from '../cli/token/make-token.ts';
import { nowMs } from './clock.ts';
import { type ClusterWatch, watchClusters } from './cluster-watch.ts';
import type { HubSettings } from './hub-process.ts';
import { inTime } from './in-time.ts';
import { type BenchHub, openBenchClient, startBenchHub } from './start-hub.ts';

/** Joins of one kind of hub. */
export interface DurabilityResult {
  readonly servers: 1 | 3;
  /** `sync_interval: always`: what is acknowledged is on disk. */
  readonly isSynced: boolean;
  /** One after the other, from the agent's first connection on. */
  readonly toReadyMs: Spread;
  /** Of some that come at once. */
  readonly joinsPerSecond: number;
}

/** In turns, so that a busy machine is busy for all of them. */
const rounds = 3;
const singlesInRound = 8;
const atOnceInRound = 40;

const kinds: readonly Pick<DurabilityResult, 'servers' | 'isSynced'>[] = [
  { servers: 1, isSynced: true },
  { servers: 1, isSynced: false },
  { servers: 3, isSynced: true },
  { servers: 3, isSynced: false },
];

interface Candidate extends AsyncDisposable {
  readonly kind: (typeof kinds)[number];
  readonly toReadyMs: number[];
  readonly joinsPerSecond: number[];
  /** @returns from the start of the first to Ready of each, in ms */
  join(count: number): Promise<number[]>;
}

function settingsOf({ servers, isSynced }: (typeof kinds)[number]): HubSettings {
  const unsafe = { allowUnsafeBus: 'true' };
  return {
    audit: 'none',
    withMember: false,
    servers,
    withoutSync: !isSynced,
    ...(isSynced
      ? {}
      : {
          settings: Object.fromEntries(Object.keys(serviceRoles).map((name) => [name, unsafe])),
        }),
  };
}

async function startCandidate(kind: (typeof kinds)[number]): Promise<Candidate> {
  const hub: BenchHub = await startBenchHub(settingsOf(kind));
  const { report } = hub;
  const admin: KubeClient = openBenchClient(report.admin);
  const watch: ClusterWatch = await watchClusters(admin);
  const uses = 1 + rounds * (singlesInRound + atOnceInRound);
  const token = await makeToken(admin, { hubId: report.hubId, name: 'durability', uses });
  const agents: SimulatedAgent[] = [];
  return {
    kind,
    toReadyMs: [],
    joinsPerSecond: [],
    async join(count) {
      const fromMs = nowMs();
      const started = Array.from({ length: count }, () => {
        const cluster = `joins-${String(agents.length + 1).padStart(4, '0')}`;
        const { addresses, caPem } = report;
        const agent = startSimulatedAgent({
          cluster,
          hub: addresses,
          caPem,
          token,
          onTrouble: () => undefined,
        });
        agents.push(agent);
        return watch.whenReady(cluster);
      });
      return (await inTime(`${count} agents are Ready`, Promise.all(started))).map((atMs) => atMs - fromMs);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent.stop()));
      await watch.stop();
      admin.close();
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** What it costs that an acknowledged event is on disk, and on three servers: the same joins on four hubs, in turns. */
export async function measureDurability(say: (message: string) => void): Promise<DurabilityResult[]> {
  await using stack = new AsyncDisposableStack();
  const candidates: Candidate[] = [];
  for (const kind of kinds) {
    say(
      `starting a hub of ${kind.servers} NATS server(s) that ${kind.isSynced ? 'write' : 'do not write'} to disk first`,
    );
    const candidate = stack.use(await startCandidate(kind));
    await candidate.join(1);
    candidates.push(candidate);
  }
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds}`);
    for (const candidate of candidates) {
      for (let single = 0; single < singlesInRound; single++)
        candidate.toReadyMs.push(...(await candidate.join(1)));
      candidate.joinsPerSecond.push(
        (atOnceInRound * 1000) / Math.max(...(await candidate.join(atOnceInRound))),
      );
    }
  }
  return candidates.map(({ kind, toReadyMs, joinsPerSecond }) => ({
    ...kind,
    toReadyMs: spreadOf(toReadyMs),
    joinsPerSecond: spreadOf(joinsPerSecond).p50,
  }));
}
