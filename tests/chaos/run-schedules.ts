import { until } from '../harness/embedded.ts';
import { runSchedule, type ScheduleResult } from './run-schedule.ts';
import { type ChaosSettings, scheduleOf } from './schedule.ts';
import { openStage, type Stage } from './stage.ts';

export interface ChaosRun {
  readonly settings: ChaosSettings;
  readonly firstSeed: number;
  readonly schedules: number;
  /** How many at once: most of the time of a schedule is waiting. */
  readonly hubs: number;
  /** No schedule begins after that. */
  readonly untilMs?: number;
  onResult(result: ScheduleResult, kept: string | undefined): void;
}

/** Each agent process has a cluster from the beginning, so that there is somebody whom a fault can hit. */
async function populate(stage: Stage, firstSeed: number): Promise<void> {
  const token = await stage.hub.createToken({ uses: stage.agents.length * 2 });
  for (const [index, agent] of stage.agents.entries())
    for (const which of ['a', 'b']) {
      const name = `base${firstSeed}-${index}${which}`;
      agent.add({ name, token: token.text });
      await stage.hub.untilReady(name);
    }
}

/** On one hub, from that seed on, until there is none left or one broke it. @returns whether all were good */
async function runOnStage(
  run: ChaosRun,
  first: number,
  nextSeed: () => number | undefined,
): Promise<boolean> {
  await using stage = await openStage(run.settings);
  await populate(stage, first);
  await until('the admission policies are in place', () => stage.hub.up.admissionInPlace().then(() => true));
  const known = new Map<number, string>();
  for (let seed: number | undefined = first; seed !== undefined; seed = nextSeed()) {
    const result = await runSchedule(stage, scheduleOf(seed, run.settings), known);
    const isGood = result.broken.length === 0;
    if (!isGood) stage.keep();
    run.onResult(result, isGood ? undefined : stage.directory);
    // What follows on a hub that is broken says nothing.
    if (!isGood) return false;
  }
  return true;
}

/** Runs one schedule after the other on one hub, or on several at once; after a failure on a new one. @returns whether all were good */
export async function runSchedules(run: ChaosRun): Promise<boolean> {
  let seed = run.firstSeed;
  function nextSeed(): number | undefined {
    const isOver = run.untilMs !== undefined && performance.now() > run.untilMs;
    return isOver || seed >= run.firstSeed + run.schedules ? undefined : seed++;
  }
  let areAllGood = true;
  async function runOnHubs(): Promise<void> {
    for (let first = nextSeed(); first !== undefined; first = nextSeed())
      areAllGood = (await runOnStage(run, first, nextSeed)) && areAllGood;
  }
  await Promise.all(Array.from({ length: run.hubs }, runOnHubs));
  return areAllGood;
}
