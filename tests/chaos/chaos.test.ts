import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { processIdentity } from '../../cli/up/process/child-process-identity.ts';
import { until } from '../harness/embedded.ts';
import { whyNoSmallDisk } from '../harness/small-disk.ts';
import { runSchedules } from './run-schedules.ts';
import type { ScheduleResult } from './run-schedule.ts';
import { scheduleOf } from './schedule.ts';

test('a schedule follows from its seed; one thing at a time happens to each target', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.constantFrom(1 as const, 3 as const),
      fc.boolean(),
      (seed, servers, withDisks) => {
        const settings = { servers, agentProcesses: 3, withDisks };
        const { faults } = scheduleOf(seed, settings);
        expect(scheduleOf(seed, settings).faults).toEqual(faults);
        expect(new Set(faults.map(({ target }) => target)).size).toBe(faults.length);
        expect(faults.length).toBeGreaterThanOrEqual(9);
      },
    ),
  );
});

test.each([
  ['--servers', '2'],
  ['--seed', 'x'],
  ['--schedules', '0'],
])('%s %s is refused before anything starts', async (flag, value) => {
  const run = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'main.ts'), flag, value]);
  await expect(run).rejects.toMatchObject({ code: 2, stderr: `${flag} "${value}" is not possible\n` });
});

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

test.skipIf(process.platform !== 'linux').each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends it with everything that it started',
  async (signal) => {
    const run = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], { stdio: 'ignore' });
    const ended = once(run, 'exit');
    const pid = run.pid ?? 0;
    const started = await until('it has started servers', async () => {
      const children = childrenOf(pid).filter((child) => processIdentity(child) !== undefined);
      return children.length >= 3 && children;
    });
    run.kill(signal);
    await ended;
    const areGone = async () => started.every((child) => processIdentity(child) === undefined);
    expect(await until('all are gone', areGone)).toBe(true);
  },
);

/** About two minutes of them; any number with `npm run chaos`. */
test.each([
  { servers: 1, schedules: 3 },
  { servers: 3, schedules: 1 },
] as const)(
  '$schedules schedules on $servers NATS server(s): every fault fires, every invariant holds',
  async (of) => {
    const noDisk = await whyNoSmallDisk();
    if (noDisk !== undefined) console.info(`no faults of disks: ${noDisk}`);
    const results: ScheduleResult[] = [];
    await runSchedules({
      settings: { servers: of.servers, agentProcesses: 3, withDisks: noDisk === undefined },
      firstSeed: 1,
      schedules: of.schedules,
      hubs: 1,
      onResult(result, kept) {
        if (kept !== undefined) console.info(`seed ${result.seed}: logs and stores are in ${kept}`);
        results.push(result);
      },
    });
    expect(results.flatMap(({ seed, broken }) => broken.map((one) => ({ seed, ...one })))).toEqual([]);
    expect(results).toHaveLength(of.schedules);
  },
);
