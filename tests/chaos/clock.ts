import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';

/** The wall clock of one process, which jumps when it is told to. A process that is started again has it as it was. */
export interface Clock {
  /** For node, before the program. */
  readonly nodeFlags: readonly string[];
  /** @returns what the process then took for the time; undefined: it was never told */
  setAhead(aheadMs: number): Promise<string | undefined>;
}

const preloaded = pathToFileURL(join(import.meta.dirname, 'stepping-clock.ts'));
/** A process that is paused or started again meanwhile does it later. */
const obeysWithinMs = 60_000;
const lookEveryMs = 50;

/** @param orders - a file of this process alone */
export function createClock(orders: string): Clock {
  const told = `${orders}.told`;
  writeFileSync(orders, '0');
  const program = new URL(preloaded);
  program.searchParams.set('orders', orders);
  return {
    nodeFlags: ['--import', program.href],
    async setAhead(aheadMs) {
      rmSync(told, { force: true });
      writeFileSync(`${orders}.new`, String(aheadMs));
      // Whole or not at all: the process may be reading.
      renameSync(`${orders}.new`, orders);
      for (let waitedMs = 0; waitedMs < obeysWithinMs; waitedMs += lookEveryMs) {
        await delay(lookEveryMs);
        if (!existsSync(told)) continue;
        const said = JSON.parse(readFileSync(told, 'utf8')) as { pid: number; aheadMs: number; now: string };
        if (said.aheadMs === aheadMs) return `process ${said.pid} took it for ${said.now}`;
      }
      return undefined;
    },
  };
}
