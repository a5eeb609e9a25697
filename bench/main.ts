import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { openEventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { StoredEvent } from '@rollcall/shared/events';
import { createKubeClient } from '@rollcall/shared/kubernetes';
import { connectAsOps } from '../cli/up/ops-connection.ts';
import { readAuditWrites } from './audit-writes.ts';
import { agentProgram } from './agent-program.ts';
import { type BenchFlags, parseBenchFlags, usage } from './bench-flags.ts';
import { nowMs } from './clock.ts';
import { watchClusters } from './cluster-watch.ts';
import type { HubReport } from './hub-process.ts';
import { joinTimeline, middleJoin } from './join-timeline.ts';
import { type Join, measureJoins } from './measure-joins.ts';
import { measureSteady } from './measure-steady.ts';
import { residentBytes } from './process-usage.ts';
import { type BenchResult, resultOf } from './result.ts';
import { showResult } from './show-result.ts';
import type { BenchAgent } from './start-agent.ts';
import { startBenchHub } from './start-hub.ts';
import { openUsageWindow } from './usage-window.ts';

function say(message: string): void {
  process.stderr.write(`[bench] ${message}\n`);
}

function sayJoin({ cluster, startedAtMs, connectedAtMs, readyAtMs }: Join): void {
  const took = (fromMs: number) => (readyAtMs - fromMs).toFixed(0);
  say(
    `${cluster}: Ready after ${took(startedAtMs)} ms, ${took(connectedAtMs)} ms after its first connection`,
  );
}

async function run(flags: BenchFlags): Promise<{ result: BenchResult; timeline: string }> {
  const startedAtMs = Date.now();
  const loadBefore = loadavg()[0] ?? Number.NaN;
  const program = [...flags.agentNodeFlags, agentProgram(flags.agentForm)];
  say('starting a hub, and an API server for the members');
  await using hub = await startBenchHub();
  const { report } = hub;
  const admin = createKubeClient(report.admin, {
    fieldManager: 'rollcall-bench',
    userAgent: 'rollcall-bench',
  });
  const watch = await watchClusters(admin);
  const agents: BenchAgent[] = [];
  try {
    const parts = { hub: report, admin, watch, agents, program };
    const readWrites = () => readAuditWrites(readFileSync(report.auditLogPath, 'utf8'));
    await measureJoins(parts, { count: flags.warmUpJoins, prefix: 'warm-up' });
    const fromMs = nowMs();
    const endJoins = openUsageWindow(report.pids);
    const joins = await measureJoins(parts, { count: flags.joins, prefix: 'bench', onJoin: sayJoin });
    const joinUsage = endJoins();
    say(`${agents.length} clusters beat; counting writes for ${flags.steadySeconds} s, once all is settled`);
    const steady = await measureSteady({
      auditLogPath: report.auditLogPath,
      pids: report.pids,
      clusters: agents.length,
      seconds: flags.steadySeconds,
    });
    const writes = readWrites().filter(
      ({ receivedAtMs }) => receivedAtMs >= fromMs && receivedAtMs < fromMs + joinUsage.lastedMs + settlingMs,
    );
    const residentLater = agents.map(({ pid }) => residentBytes(pid) ?? Number.NaN);
    const result = resultOf({
      agentForm: flags.agentForm,
      agentNodeFlags: flags.agentNodeFlags,
      startedAtMs,
      loadBefore,
      joins,
      writes,
      joinUsage,
      steady,
      residentLater,
    });
    const middle = middleJoin(joins);
    const timeline =
      flags.trace && middle
        ? joinTimeline(middle, { events: await readEvents(report), writes, sightings: watch.sightings })
        : '';
    return { result, timeline };
  } finally {
    await watch.stop();
    admin.close();
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  }
}

/** What the last joins led to is written within it; then the hub is at rest. */
const settlingMs = 15_000;

async function readEvents(report: HubReport): Promise<StoredEvent[]> {
  const nc = await connectAsOps(report.stateDir, { servers: report.addresses, caPem: report.caPem });
  try {
    const log = await openEventLog(nc, { epoch: report.epoch, source: '/rollcall/bench' });
    return await Array.fromAsync(log.scan({ filter: 'cluster.>' }));
  } finally {
    await nc.close();
  }
}

function save(result: BenchResult): void {
  const directory = join(import.meta.dirname, 'results');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${result.date.slice(0, 10)}-${result.commit}.json`);
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`);
  say(`kept in bench/results/`);
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const flags = parseBenchFlags(args);
    if (!flags) {
      process.stdout.write(usage);
      return 0;
    }
    const { result, timeline } = await run(flags);
    if (timeline !== '') process.stderr.write(`\n${timeline}\n\n`);
    process.stdout.write(
      flags.json ? `${JSON.stringify(result, undefined, 2)}\n` : `\n${showResult(result)}`,
    );
    if (flags.save) save(result);
    return 0;
  } catch (thrown) {
    const error = toRollcallError(thrown);
    say(`${error.code}: ${error.message}`);
    return error.code === 'USAGE' ? 2 : 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
