import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { GaugeReading } from './gauge.ts';

const preloaded = pathToFileURL(join(import.meta.dirname, 'gauge.ts'));
const answersWithinMs = 10_000;
const lookEveryMs = 50;
/** What is free after a collection goes back to the system beside it. */
const givenBackMs = 300;

/** Flags of a Node that can be asked, by `file`, which is of that process alone. */
export function gaugeFlags(file: string): string[] {
  const program = new URL(preloaded);
  program.searchParams.set('file', file);
  return ['--import', program.href];
}

/**
 * Has a process collect its garbage. It must be ready: before, the signal would end it.
 * @returns undefined where it says nothing in time, as when it is killed meanwhile
 */
export async function readGauge(pid: number, file: string): Promise<GaugeReading | undefined> {
  rmSync(file, { force: true });
  try {
    process.kill(pid, 'SIGUSR2');
  } catch {
    return undefined;
  }
  for (const untilMs = performance.now() + answersWithinMs; performance.now() < untilMs;) {
    await delay(lookEveryMs);
    if (!existsSync(file)) continue;
    await delay(givenBackMs);
    return JSON.parse(readFileSync(file, 'utf8')) as GaugeReading;
  }
  return undefined;
}
