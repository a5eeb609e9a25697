import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess, KubeClient } from '@rollcall/shared/kubernetes';
import { makeToken } from '../../cli/token/make-token.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import type { ClusterWatch } from '../hub/cluster-watch.ts';
import type { HubReport } from '../hub/hub-process.ts';
import { cpuMs, residentBytes } from '../../cli/simulate/report/process-usage.ts';
import { type AgentLine, type BenchAgent, startBenchAgent } from '../hub/start-agent.ts';

/** One cluster from its agent's process start to Ready. */
export interface Join {
  /** Id, name and namespace of the cluster. */
  readonly cluster: string;
  readonly startedAtMs: number;
  /** The agent's first TCP connection to the hub is begun. */
  readonly connectedAtMs: number;
  /** The hub has let it in to ask. */
  readonly letInAtMs: number;
  /** A watch on the hub's API server shows Ready=True. */
  readonly readyAtMs: number;
  readonly agentLines: readonly AgentLine[];
  readonly agentCpuMs: number;
  readonly agentResidentBytes: number;
}

export interface JoinParts {
  readonly hub: HubReport;
  readonly member: KubeAccess;
  readonly admin: KubeClient;
  readonly watch: ClusterWatch;
  /** What Node runs as an agent, flags first. */
  readonly program: readonly string[];
  /** Of each token, beside its one use. */
  readonly tokenTerms?: Readonly<Record<string, unknown>>;
  /** Agents go on running; whoever ends the bench ends them. */
  readonly agents: BenchAgent[];
}

/** After it the hub has written all that the join before led to, but for what it spreads over seconds. */
const pauseMs = 1500;
const readyWithinMs = 60_000;

/** One cluster after the other, each at a hub that has nothing else to do. */
export async function measureJoins(
  parts: JoinParts,
  options: { count: number; prefix: string; onJoin?: (join: Join) => void },
): Promise<Join[]> {
  const joins: Join[] = [];
  for (const cluster of clusterNames(options.prefix, options.count)) {
    const measured = await measureJoin(parts, cluster);
    joins.push(measured);
    options.onJoin?.(measured);
    await delay(pauseMs);
  }
  return joins;
}

async function measureJoin(parts: JoinParts, cluster: string): Promise<Join> {
  const { hub, admin, watch, agents, tokenTerms: terms = {} } = parts;
  const token = await makeToken(admin, { hubId: hub.hubId, name: cluster, uses: 1, terms });
  const agent = startBenchAgent(hub, { cluster, token, member: parts.member, program: parts.program });
  agents.push(agent);
  const readyAtMs = await readyInTime(agent, watch, cluster);
  const agentCpuMs = cpuMs(agent.pid) ?? Number.NaN;
  const agentResidentBytes = residentBytes(agent.pid) ?? Number.NaN;
  const connected = agent.lines.find(({ step }) => step === 'tcp-hub');
  const letIn = agent.lines.find(({ step }) => step === 'connect');
  if (!connected || !letIn)
    throw new RollcallError('UNEXPECTED', `"${cluster}" is Ready, and its agent never connected`);
  return {
    cluster,
    startedAtMs: agent.startedAtMs,
    connectedAtMs: connected.atMs,
    letInAtMs: letIn.atMs,
    readyAtMs,
    agentLines: agent.lines,
    agentCpuMs,
    agentResidentBytes,
  };
}

async function readyInTime(agent: BenchAgent, watch: ClusterWatch, cluster: string): Promise<number> {
  const ending = new AbortController();
  const late = delay(readyWithinMs, undefined, { signal: ending.signal }).then((): never => {
    const said = agent.lines.map(({ step, message }) => `[${step}] ${message}`).join('\n');
    throw new RollcallError(
      'DEADLINE_EXCEEDED',
      `"${cluster}" is not Ready in time; its agent said\n${said}`,
    );
  });
  try {
    return await Promise.race([watch.whenReady(cluster), agent.broken, late]);
  } finally {
    ending.abort();
    late.catch(() => undefined);
  }
}
