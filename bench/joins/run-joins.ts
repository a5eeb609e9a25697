import { readFileSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess, KubeClient } from '@rollcall/shared/kubernetes';
import { agentProgram } from '../hub/agent-program.ts';
import { readAuditWrites } from '../report/audit-writes.ts';
import type { BenchFlags } from '../bench-flags.ts';
import { nowMs } from '../report/clock.ts';
import { watchClusters } from '../hub/cluster-watch.ts';
import { prepareEverything } from './everything.ts';
import { readEvents } from '../hub/read-events.ts';
import { joinTimeline, middleJoin } from './join-timeline.ts';
import { type JoinsResult, joinsResultOf } from './joins-result.ts';
import { type Join, measureJoins } from './measure-joins.ts';
import { measureSteady } from './measure-steady.ts';
import { residentBytes } from '../../cli/simulate/report/process-usage.ts';
import type { BenchAgent } from '../hub/start-agent.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { openUsageWindow } from '../report/usage-window.ts';

type Say = (message: string) => void;

/** What the last joins led to is written within it; then the hub is at rest. */
const settlingMs = 15_000;

function tellJoin(say: Say, { cluster, startedAtMs, connectedAtMs, readyAtMs }: Join): void {
  const took = (fromMs: number) => (readyAtMs - fromMs).toFixed(0);
  say(
    `${cluster}: Ready after ${took(startedAtMs)} ms, ${took(connectedAtMs)} ms after its first connection`,
  );
}

/**
 * Clusters that join one after the other, each with an agent process of its own, and the hub at rest after them.
 * @param options.withEverything - members say all that an agent tells of its member, and tokens give a set; fewer joins, for what is written
 * @returns also the timeline of the join in the middle, where it was asked for
 */
export async function runJoins(
  flags: BenchFlags,
  say: Say,
  { withEverything = false } = {},
): Promise<{ result: JoinsResult; timeline: string }> {
  const program = [...flags.agentNodeFlags, agentProgram(flags.agentForm)];
  say('starting a hub, and an API server for the members');
  await using hub = await startBenchHub({ audit: 'metadata', withMember: true });
  const { report } = hub;
  const { member } = report;
  if (!member) throw new RollcallError('UNEXPECTED', 'the members have no API server');
  const admin = openBenchClient(report.admin);
  const watch = await watchClusters(admin);
  const agents: BenchAgent[] = [];
  try {
    const tokenTerms = withEverything ? await prepare(admin, member) : {};
    const count = withEverything ? Math.ceil(flags.joins / 5) : flags.joins;
    const parts = { hub: report, member, admin, watch, agents, program, tokenTerms };
    await measureJoins(parts, { count: flags.warmUpJoins, prefix: 'warm-up' });
    const fromMs = nowMs();
    const endJoins = openUsageWindow(report.pids);
    const onJoin = (join: Join) => tellJoin(say, join);
    const joins = await measureJoins(parts, { count, prefix: 'bench', onJoin });
    const joinUsage = endJoins();
    say(
      `${agents.length} clusters send heartbeats; counting writes for ${flags.steadySeconds} s, once all is settled`,
    );
    const steady = await measureSteady({
      auditLogPath: report.auditLogPath,
      pids: report.pids,
      clusters: agents.length,
      seconds: flags.steadySeconds,
    });
    const untilMs = fromMs + joinUsage.lastedMs + settlingMs;
    const writes = readAuditWrites(readFileSync(report.auditLogPath, 'utf8')).filter(
      ({ receivedAtMs }) => receivedAtMs >= fromMs && receivedAtMs < untilMs,
    );
    const residentLater = agents.map(({ pid }) => residentBytes(pid) ?? Number.NaN);
    const { agentForm, agentNodeFlags } = flags;
    const found = { agentForm, agentNodeFlags, joins, writes, joinUsage, steady, residentLater };
    const middle = middleJoin(joins);
    const timeline =
      flags.trace && middle
        ? joinTimeline(middle, {
            events: await readEvents(report, 'cluster.>'),
            writes,
            sightings: watch.sightings,
          })
        : '';
    return { result: joinsResultOf(found), timeline };
  } finally {
    await watch.stop();
    admin.close();
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  }
}

async function prepare(admin: KubeClient, member: KubeAccess): Promise<Readonly<Record<string, unknown>>> {
  const client = openBenchClient(member);
  try {
    return await prepareEverything(admin, client);
  } finally {
    client.close();
  }
}
