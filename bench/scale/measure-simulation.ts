import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { RollcallError } from '@rollcall/shared/errors';

/** The simulation of the decisions, as `npm run simulate:decisions` runs it. */
export interface SimulationResult {
  readonly seeds: number;
  readonly seedsPerCoreSecond: number;
}

const program = join(import.meta.dirname, '..', '..', 'tests', 'simulation', 'main.ts');

export async function measureSimulation(
  seeds: number,
  say: (message: string) => void,
): Promise<SimulationResult> {
  say(`simulating ${seeds} seeds`);
  const child = spawn(process.execPath, [program, '--seeds', String(seeds)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const said = await text(child.stdout);
  const seedsPerCoreSecond = readSpeed(said);
  if (seedsPerCoreSecond !== undefined) return { seeds, seedsPerCoreSecond };
  const why = said.split('\n').findLast((line) => line.startsWith('replay: ')) ?? 'it said nothing';
  throw new RollcallError('CHILD_FAILED', `the simulation did not hold; ${why}`);
}

/** @returns undefined where a seed failed: then it says something else */
export function readSpeed(said: string): number | undefined {
  const speed = /^(\d+) seeds a core and second$/m.exec(said)?.[1];
  return speed === undefined ? undefined : Number(speed);
}
