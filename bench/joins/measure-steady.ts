import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type AuditWrite, readAuditWrites, writeKindOf } from '../report/audit-writes.ts';
import { describeWrite } from '../report/count-writes.ts';
import { openUsageWindow, type UsageWindow } from '../report/usage-window.ts';

export interface Steady {
  readonly usage: UsageWindow;
  readonly clusters: number;
  /** By Rollcall, whatever it is about; dry runs are not kept and not counted. */
  readonly writesPerClusterAndMinute: number;
  readonly list: readonly string[];
  readonly dryRuns: number;
}

/** The longest that the projector and the approver spread writes over is 10 s; events of late heartbeats come before. */
const settleMs = 15_000;

/** Lets everything settle, and then counts what a hub writes whose clusters only send heartbeats. */
export async function measureSteady(options: {
  auditLogPath: string;
  pids: Readonly<Record<string, number>>;
  clusters: number;
  seconds: number;
}): Promise<Steady> {
  await delay(settleMs);
  const from = statSync(options.auditLogPath).size;
  const end = openUsageWindow(options.pids);
  await delay(options.seconds * 1000);
  const usage = end();
  const writes = readAuditWrites(readFileSync(options.auditLogPath).subarray(from).toString());
  const ours = writes.filter(isOurs);
  return {
    usage,
    clusters: options.clusters,
    writesPerClusterAndMinute: ours.length / options.clusters / (usage.lastedMs / 60_000),
    list: ours.map(describeWrite),
    dryRuns: writes.filter(({ isDryRun }) => isDryRun).length,
  };
}

function isOurs(write: AuditWrite): boolean {
  return ['cluster', 'coalesced', 'other'].includes(writeKindOf(write));
}
