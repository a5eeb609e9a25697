import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { toRollcallError } from '@rollcall/shared/errors';
import { type BenchFlags, parseBenchFlags, usage } from './bench-flags.ts';
import { measureHeartbeats } from './liveness/measure-heartbeats.ts';
import { measureBurst } from './joins/measure-burst.ts';
import { measureCallout } from './trust/measure-callout.ts';
import { measureCliStart } from './scale/measure-cli-start.ts';
import { measureConsole } from './scale/measure-console.ts';
import { measureDurability } from './joins/measure-durability.ts';
import { measureFleetAtRest } from './scale/measure-fleet-at-rest.ts';
import { measureFlood } from './trust/measure-flood.ts';
import { measureHosted } from './scale/measure-hosted.ts';
import { measureLeaving } from './trust/measure-leaving.ts';
import { measureInstalled } from './installed/measure-installed.ts';
import { measureLiveness } from './liveness/measure-liveness.ts';
import { measureHerd } from './liveness/measure-herd.ts';
import { measureLapsed } from './liveness/measure-lapsed.ts';
import { measureNodes } from './scale/measure-nodes.ts';
import { measurePolicies } from './scale/measure-policies.ts';
import { measureProjector } from './scale/measure-projector.ts';
import { measureReach } from './reach/measure-reach.ts';
import { measureReplicas } from './joins/measure-replicas.ts';
import { measureRequests } from './scale/measure-requests.ts';
import { measureRestart } from './liveness/measure-restart.ts';
import { measureRestore } from './trust/measure-restore.ts';
import { measureRevocation } from './trust/measure-revocation.ts';
import { measureSimulation } from './scale/measure-simulation.ts';
import { measureUnregister } from './trust/measure-unregister.ts';
import { measureRenewal } from './trust/renewal-spread.ts';
import { type BenchResult, type PartName, type PartResults, partsByDefault, resultOf } from './result.ts';
import { measureSoak } from './soak/measure-soak.ts';
import { runJoins } from './joins/run-joins.ts';
import { showResult } from './show-result.ts';

function say(message: string): void {
  process.stderr.write(`[bench] ${message}\n`);
}

const parts: Readonly<Record<PartName, (flags: BenchFlags) => Promise<PartResults>>> = {
  async joins(flags) {
    const { result, timeline } = await runJoins(flags, say);
    if (timeline !== '') process.stderr.write(`\n${timeline}\n\n`);
    return { joins: result };
  },
  async everything(flags) {
    const { result } = await runJoins(flags, say, { withEverything: true });
    return { everything: result };
  },
  burst: async ({ agents }) => ({ burst: await measureBurst(agents, say) }),
  policies: async ({ requests }) => ({ policies: await measurePolicies(requests, say) }),
  cli: async () => ({ cli: await measureCliStart(say) }),
  console: async ({ shown: clusters, shownSeconds: seconds }) => ({
    console: await measureConsole({ clusters, seconds }, say),
  }),
  simulation: async ({ seeds }) => ({ simulation: await measureSimulation(seeds, say) }),
  revocation: async (flags) => ({ revocation: await measureRevocation(flags, say) }),
  callout: async ({ callouts }) => ({ callout: await measureCallout(callouts, say) }),
  renewal: async () => ({ renewal: measureRenewal() }),
  flood: async (flags) => ({ flood: await measureFlood(flags, say) }),
  restore: async ({ clusters }) => ({ restore: await measureRestore(clusters, say) }),
  unregister: async ({ leavers }) => ({ unregister: await measureUnregister(leavers, say) }),
  leaving: async ({ leavingToTheEnd: toTheEnd, leavingByThemselves: byThemselves, trace, ...flags }) => ({
    leaving: await measureLeaving(flags.leavingAtOnce, { toTheEnd, byThemselves, trace, say }),
  }),
  hosted: async ({ hosted, probes }) => ({
    hosted: await measureHosted({ joins: hosted, members: probes }, say),
  }),
  nodes: async ({ nodes, nodeSeconds }) => ({
    nodes: await measureNodes({ count: nodes, seconds: nodeSeconds }, say),
  }),
  'nodes-install': async ({ installs: rounds, members }) => ({
    installed: await measureInstalled({ rounds, members }, say),
  }),
  reach: async () => ({ reach: await measureReach(say) }),
  heartbeats: async ({ heartbeatSeconds }) => ({
    heartbeats: await measureHeartbeats(heartbeatSeconds, say),
  }),
  liveness: async (flags) => ({ liveness: await measureLiveness(flags, say) }),
  durability: async () => ({ durability: await measureDurability(say) }),
  replicas: async () => ({ replicas: await measureReplicas(say) }),
  requests: async ({ registered }) => ({ requests: await measureRequests(registered, say) }),
  rest: async ({ atRest: clusters, restSeconds: seconds }) => ({
    rest: await measureFleetAtRest({ clusters, seconds }, say),
  }),
  projector: async ({ objects }) => ({ projector: await measureProjector(objects, say) }),
  restart: async ({ fleet }) => ({ restart: await measureRestart(fleet, say) }),
  herd: async ({ herd }) => ({ herd: await measureHerd(herd, say) }),
  lapsed: async ({ lapsed }) => ({ lapsed: await measureLapsed(lapsed, say) }),
  async soak({ clusters, minutes, servers, real = Math.ceil(clusters / 10) }) {
    return { soak: await measureSoak({ clusters, real, lastsMs: minutes * 60_000, servers }, say) };
  },
};

/**
 * One part after the other: they are measured on the same cores. What was found is not lost with a later part that fails.
 * @returns also which parts failed; they have said why
 */
async function run(flags: BenchFlags): Promise<{ result: BenchResult; failed: PartName[] }> {
  const began = { atMs: Date.now(), load: loadavg()[0] ?? Number.NaN };
  let found: PartResults = {};
  const failed: PartName[] = [];
  for (const part of flags.only) {
    try {
      found = { ...found, ...(await parts[part](flags)) };
    } catch (thrown) {
      const error = toRollcallError(thrown);
      say(`${part}: ${error.code}: ${error.message}`);
      failed.push(part);
    }
  }
  return { result: resultOf(found, began), failed };
}

/** A run of some parts does not take the place of a whole one. */
function save(result: BenchResult, only: readonly PartName[]): void {
  const directory = join(import.meta.dirname, 'results');
  mkdirSync(directory, { recursive: true });
  const isWhole = partsByDefault.every((part) => only.includes(part));
  const name = [result.date.slice(0, 10), result.commit, ...(isWhole ? [] : only)].join('-');
  writeFileSync(join(directory, `${name}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
  say(`kept as bench/results/${name}.json`);
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const flags = parseBenchFlags(args);
    if (!flags) {
      process.stdout.write(usage);
      return 0;
    }
    const { result, failed } = await run(flags);
    const found = flags.only.filter((part) => !failed.includes(part));
    if (found.length === 0) return 1;
    process.stdout.write(
      flags.json ? `${JSON.stringify(result, undefined, 2)}\n` : `\n${showResult(result)}`,
    );
    if (flags.save) save(result, found);
    const broken = result.soak?.judgements.filter(({ isGood }) => !isGood) ?? [];
    for (const { name, is, allowed } of broken) say(`soak: ${name}: ${is} (${allowed})`);
    return failed.length === 0 && broken.length === 0 ? 0 : 1;
  } catch (thrown) {
    const error = toRollcallError(thrown);
    say(`${error.code}: ${error.message}`);
    return error.code === 'USAGE' ? 2 : 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
