/** `npm run chaos -- --seed S --schedules N [--servers 1|3]`: see README.md. */
import { parseArgs } from 'node:util';
import { describeFault } from './schedule.ts';
import { runSchedules } from './run-schedules.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '10' },
    servers: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

function wholeNumber(
  name: 'seed' | 'schedules' | 'servers' | 'minutes',
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
const untilMs =
  values.minutes === undefined
    ? undefined
    : performance.now() + wholeNumber('minutes', (value) => value > 0) * 60_000;

let [done, fired, failed] = [0, 0, 0];
const isGood = await runSchedules({
  settings: { servers, agentProcesses: 3 },
  firstSeed,
  schedules,
  ...(untilMs === undefined ? {} : { untilMs }),
  onResult({ seed, strikes, broken, lastedMs }, kept) {
    done++;
    fired += strikes.filter(({ evidence }) => evidence !== undefined).length;
    const how = broken.length === 0 ? 'good' : 'BROKEN';
    process.stdout.write(
      `seed ${seed}: ${strikes.length} faults, ${(lastedMs / 1000).toFixed(0)} s, ${how}\n`,
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
