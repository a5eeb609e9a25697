/** `npm run chaos -- --seed S --schedules N [--servers 1|3] [--hubs K]`: see README.md. */
import { parseArgs } from 'node:util';
import { whyNoSmallDisk } from '../harness/small-disk.ts';
import { describeFault } from './schedule.ts';
import { runSchedules } from './run-schedules.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '10' },
    servers: { type: 'string', default: '1' },
    hubs: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

function wholeNumber(
  name: 'seed' | 'schedules' | 'servers' | 'hubs' | 'minutes',
  accepts: (value: number) => boolean,
): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && accepts(value)) return value;
  process.stderr.write(`--${name} "${values[name]}" is not possible\n`);
  process.exit(2);
}

const firstSeed = wholeNumber('seed', (value) => value >= 0);
const schedules = wholeNumber('schedules', (value) => value > 0);
const servers = wholeNumber('servers', (value) => value === 1 || value === 3) as 1 | 3;
const hubs = wholeNumber('hubs', (value) => value > 0);
const untilMs =
  values.minutes === undefined
    ? undefined
    : performance.now() + wholeNumber('minutes', (value) => value > 0) * 60_000;

// Its children go with it, and what it has mounted.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(signal === 'SIGINT' ? 130 : 143));

const noDisk = await whyNoSmallDisk();
if (noDisk !== undefined) process.stdout.write(`no faults of disks: ${noDisk}\n`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;

let [done, fired, failed] = [0, 0, 0];
const isGood = await runSchedules({
  settings: { servers, agentProcesses: 3, withDisks: noDisk === undefined },
  firstSeed,
  schedules,
  hubs,
  ...(untilMs === undefined ? {} : { untilMs }),
  onResult({ seed, strikes, broken, lastedMs, slowest }, kept) {
    done++;
    fired += strikes.filter(({ evidence }) => evidence !== undefined).length;
    const how = broken.length === 0 ? 'good' : 'BROKEN';
    process.stdout.write(
      `seed ${seed}: ${strikes.length} faults, ${seconds(lastedMs)}, ${how} (${seconds(slowest.tookMs)} until ${slowest.what})\n`,
    );
    if (broken.length > 0 || values.verbose)
      for (const { fault, evidence } of strikes)
        process.stdout.write(`  ${describeFault(fault)}: ${evidence ?? 'DID NOT FIRE'}\n`);
    for (const { invariant, what } of broken) process.stdout.write(`  ${invariant}: ${what}\n`);
    if (kept === undefined) return;
    failed++;
    process.stdout.write(
      `  logs and stores: ${kept}\n  again: npm run chaos -- --seed ${seed} --schedules 1 --servers ${servers}\n`,
    );
  },
});
process.stdout.write(
  `${done} schedules, ${fired} faults fired, ${failed} broken; ${servers} NATS server(s)\n`,
);
process.exit(isGood ? 0 : 1);
