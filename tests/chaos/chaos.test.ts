import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runSchedules } from './run-schedules.ts';
import type { ScheduleResult } from './run-schedule.ts';
import { scheduleOf } from './schedule.ts';

test('a schedule follows from its seed; one thing at a time happens to each target', () => {
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(1 as const, 3 as const), (seed, servers) => {
      const settings = { servers, agentProcesses: 3 };
      const { faults } = scheduleOf(seed, settings);
      expect(scheduleOf(seed, settings).faults).toEqual(faults);
      expect(new Set(faults.map(({ target }) => target)).size).toBe(faults.length);
      expect(faults.length).toBeGreaterThanOrEqual(7);
    }),
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

/** About two minutes of them; any number with `npm run chaos`. */
test.each([
  { servers: 1, schedules: 3 },
  { servers: 3, schedules: 1 },
] as const)(
  '$schedules schedules on $servers NATS server(s): every fault fires, every invariant holds',
  async (of) => {
    const results: ScheduleResult[] = [];
    await runSchedules({
      settings: { servers: of.servers, agentProcesses: 3 },
      firstSeed: 1,
      schedules: of.schedules,
      onResult(result, kept) {
        if (kept !== undefined) console.info(`seed ${result.seed}: logs and stores are in ${kept}`);
        results.push(result);
      },
    });
    expect(results.flatMap(({ seed, broken }) => broken.map((one) => ({ seed, ...one })))).toEqual([]);
    expect(results).toHaveLength(of.schedules);
  },
);
