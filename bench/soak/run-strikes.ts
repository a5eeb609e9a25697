import { setTimeout as delay } from 'node:timers/promises';
import type { Victim } from '../../tests/chaos/victims.ts';
import type { PlannedStrike } from './strike-plan.ts';

export interface StrikeDone {
  readonly target: string;
  readonly atMs: number;
  /** From the kill until another process was ready in its place; undefined: none was. */
  readonly awayMs?: number;
}

/** As whatever runs a service in production takes to start it again. */
const goneForMs = 1000;
const mostStarts = 5;

/** Whatever runs a service in production starts it again until it runs. */
async function startAgain(target: string, victim: Victim, say: (message: string) => void): Promise<void> {
  for (let starts = 1; ; starts++) {
    await delay(goneForMs);
    try {
      return await victim.start();
    } catch (error) {
      if (starts === mostStarts) throw error;
      say(`${target} does not start again: ${String(error)}`);
    }
  }
}

/** Kills (SIGKILL) whoever is due, one after the other, and has each started again: all of them, however busy the machine is. */
export async function runStrikes(
  plan: readonly PlannedStrike[],
  targets: ReadonlyMap<string, Victim>,
  { beganMs, say }: { beganMs: number; say: (message: string) => void },
): Promise<StrikeDone[]> {
  const done: StrikeDone[] = [];
  for (const { atMs, target } of plan) {
    await delay(Math.max(0, beganMs + atMs - performance.now()));
    const victim = targets.get(target);
    if (!victim) throw new Error(`there is no ${target}`);
    const killedMs = performance.now();
    const pid = victim.pid();
    try {
      await victim.kill();
      await startAgain(target, victim, say);
      const isAnother = victim.pid() !== pid;
      done.push({ target, atMs, ...(isAnother ? { awayMs: performance.now() - killedMs } : {}) });
    } catch (error) {
      say(`${target} does not start again: ${String(error)}`);
      done.push({ target, atMs });
    }
  }
  return done;
}
