import { until } from '../harness/embedded.ts';
import { runSchedule, type ScheduleResult } from './run-schedule.ts';
import { type ChaosSettings, scheduleOf } from './schedule.ts';
import { openStage, type Stage } from './stage.ts';

export interface ChaosRun {
  readonly settings: ChaosSettings;
  readonly firstSeed: number;
  readonly schedules: number;
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

async function runOnStage(run: ChaosRun, from: number): Promise<{ next: number; isGood: boolean }> {
  await using stage = await openStage(run.settings);
  await populate(stage, from);
  await until('the fence stands', () => stage.hub.up.fenceStands().then(() => true));
  const known = new Map<number, string>();
  for (let seed = from; seed < run.firstSeed + run.schedules; seed++) {
    if (run.untilMs !== undefined && performance.now() > run.untilMs) break;
    const result = await runSchedule(stage, scheduleOf(seed, run.settings), known);
    const isGood = result.broken.length === 0;
    if (!isGood) stage.keep();
    run.onResult(result, isGood ? undefined : stage.directory);
    // What follows on a hub that is broken says nothing.
    if (!isGood) return { next: seed + 1, isGood };
  }
  return { next: run.firstSeed + run.schedules, isGood: true };
}

/** Runs one schedule after the other on one hub; after a failure on a new one. @returns whether all were good */
export async function runSchedules(run: ChaosRun): Promise<boolean> {
  let areAllGood = true;
  for (let next = run.firstSeed; next < run.firstSeed + run.schedules;) {
    const outcome = await runOnStage(run, next);
    areAllGood &&= outcome.isGood;
    next = outcome.next;
    if (run.untilMs !== undefined && performance.now() > run.untilMs) break;
  }
  return areAllGood;
}
