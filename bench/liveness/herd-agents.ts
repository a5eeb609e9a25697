import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { KnownMember } from '../../tests/harness/member-fleet.ts';
import type { TestHub } from '../../tests/harness/test-hub.ts';
import type { HerdReport, HerdSettings } from './herd-process.ts';

const processes = 2;

/** @param startedPerSecond - agents of all processes together */
export function startHerds(
  hub: TestHub,
  members: readonly KnownMember[],
  startedPerSecond: number,
): ChildProcess[] {
  return Array.from({ length: processes }, (_, index) => {
    const herd = fork(join(import.meta.dirname, 'herd-process.ts'), {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const settings: HerdSettings = {
      hub: hub.address.servers,
      caPem: hub.address.caPem,
      members: members.filter((_member, at) => at % processes === index),
      startedPerSecond: startedPerSecond / processes,
    };
    herd.send(settings);
    return herd;
  });
}

/** What agents met since the last time. */
export async function herdReports(herds: readonly ChildProcess[]): Promise<HerdReport> {
  const sum: Record<string, number> = {};
  for (const herd of herds) {
    const said = once(herd, 'message') as Promise<[HerdReport]>;
    herd.send('report');
    for (const [what, count] of Object.entries((await said)[0])) sum[what] = (sum[what] ?? 0) + count;
  }
  return sum;
}
