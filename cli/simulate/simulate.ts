import { setTimeout as delay } from 'node:timers/promises';
import { streamSize } from '@rollcall/shared/bus';
import { documentText } from '../terminal/document-text.ts';
import { askServices, figureOf } from '../status/ask-services.ts';
import { printResult } from '../terminal/output.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { type Fleet, openFleet } from './clusters/fleet.ts';
import { planFleet } from './clusters/fleet-plan.ts';
import { followPlan } from './follow-plan.ts';
import { type HubAtHand, openHubAtHand } from './hub-at-hand.ts';
import { readHubUsage } from './report/hub-usage.ts';
import { createRandom } from './random.ts';
import { reportOf, type SimulationReport } from './report/report.ts';
import { reportText } from './report/report-text.ts';
import { showStatus } from './run-status.ts';
import { createRunView, type RunView } from './report/run-view.ts';
import { readRun, type RunWatch, watchRun } from './report/run-watch.ts';
import { settingsOf, type SimulateFlags, type SimulationSettings } from './simulation-settings.ts';

/** A hub that has not taken them all by then is not waited for: the report says how many joined. */
const joinedWithinMs = 180_000;
/** Of a large fleet that is shown the API server takes that long. */
const shownWithinMs = 1_200_000;
/** A hub in use always has something that is about to be shown. */
const shownLagSeconds = 1;
const lookEveryMs = 50;

/** What Kubernetes is to show of them would else be written while the scenario runs. */
async function untilShown({ nc }: HubAtHand, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + shownWithinMs;
  while (!signal.aborted && performance.now() < deadlineMs) {
    const lagSeconds = figureOf(await askServices(nc), 'projector', 'lagSeconds');
    if (lagSeconds === undefined || lagSeconds < shownLagSeconds) return;
    await delay(lookEveryMs);
  }
}

async function untilJoined(watch: RunWatch, clusters: number, signal: AbortSignal): Promise<boolean> {
  const deadlineMs = performance.now() + joinedWithinMs;
  while (watch.joined() < clusters) {
    if (signal.aborted || performance.now() > deadlineMs) return false;
    await delay(lookEveryMs);
  }
  return true;
}

interface Stage {
  readonly at: HubAtHand;
  readonly fleet: Fleet;
  readonly settings: SimulationSettings;
  readonly view: RunView;
  readonly signal: AbortSignal;
}

async function run(stage: Stage, plan: ReturnType<typeof planFleet>): Promise<SimulationReport> {
  const { at, fleet, settings, view, signal } = stage;
  const { scenario, clusters } = settings;
  const fromSequence = ((await streamSize(at.nc, 'EVENTS'))?.lastSequence ?? 0) + 1;
  const before = await readHubUsage(at.stateDir, at.admin);
  const watch = watchRun(at.nc, { prefix: fleet.prefix, onOutage: (message) => view.say('hub', message) });
  const stopStatus = showStatus(view, watch, fleet);
  try {
    const startedAtMs = Date.now();
    const elapsed = () => `${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`;
    const atFirst = Array.from({ length: clusters }, (_, cluster) => cluster);
    const madeUpTookMs = await fleet.register(atFirst);
    view.say(
      'register',
      signal.aborted
        ? `interrupted while clusters registered (${elapsed()})`
        : `${clusters} clusters are registered (${elapsed()}); waiting for their first heartbeats`,
    );
    const areAllIn = await untilJoined(watch, clusters, signal);
    await untilShown(at, signal);
    view.say(
      'ready',
      areAllIn
        ? `all of them are ready (${elapsed()})`
        : `${watch.joined()} of them are ready (${elapsed()})`,
    );
    const beganAtMs = Date.now();
    const firstLeave = plan.actions.find(({ verb }) => verb === 'leave');
    const absences = await followPlan(plan, fleet, { beganAtMs, endMs: scenario.end, view, signal });
    const endedAtMs = Date.now();
    const history = await readRun(at.log, { prefix: fleet.prefix, fromSequence });
    return reportOf({
      scenario: settings.name,
      seed: settings.seed,
      clusters,
      startedAtMs,
      beganAtMs,
      endedAtMs,
      madeUp: { count: clusters - settings.real, tookMs: madeUpTookMs },
      askedAtMs: fleet.askedAtMs,
      leavingFromMs: firstLeave && beganAtMs + firstLeave.atMs,
      troubles: fleet.agents?.troubles ?? {},
      heartbeats: fleet.heartbeats.sent(),
      absences,
      stalls: fleet.heartbeats.stalls(),
      ...history,
      usage: { before, after: await readHubUsage(at.stateDir, at.admin) },
      intervalMs: scenario.heartbeat.interval,
    });
  } finally {
    stopStatus();
    view.end();
    watch.stop();
  }
}

/**
 * `rollcall simulate`: a fleet that is made up, on the hub of this directory, what a scenario does to it, and what the hub made
 * of that. Afterwards the hub is as it was before, but for its history.
 * @throws RollcallError USAGE, SCENARIO_INVALID, HUB_MISSING, KEYS_OFFLINE, BUS_UNREACHABLE; KubeApiError
 */
export async function simulate(flags: SimulateFlags): Promise<void> {
  const settings = settingsOf(flags);
  const { scenario, clusters, seed, real } = settings;
  const stopping = new AbortController();
  void untilStopSignal().then(() => stopping.abort());
  await using at = await openHubAtHand();
  const view = createRunView();
  const plan = planFleet(scenario, clusters, createRandom(seed));
  view.say('simulate', scenario.description);
  view.say(
    'simulate',
    `${clusters} clusters in ${plan.groups.length} groups, ${real} of them with agents of their own, and ${plan.withAgent.size} such that come later; seed ${seed}`,
  );
  const fleet = await openFleet(at, plan, settings, stopping.signal);
  try {
    const report = await run({ at, fleet, settings, view, signal: stopping.signal }, plan);
    printResult(flags.output === 'text' ? reportText(report) : documentText(report, flags.output));
  } finally {
    if (flags.keep) {
      view.say(
        'keep',
        `the clusters stay registered, by the names ${fleet.prefix}…; nobody sends heartbeats for them now`,
      );
      await fleet.stop();
    } else {
      view.say('clean up', 'the clusters of this run leave the hub');
      await fleet.leave();
    }
  }
}
