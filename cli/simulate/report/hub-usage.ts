import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { readState } from '../../up/private-files.ts';
import { stateHolder } from '../../up/state/state-lock.ts';
import { cpuMs, residentBytes } from './process-usage.ts';

/** What the hub has used so far. */
export interface HubUsage {
  readonly processes: readonly {
    readonly name: string;
    readonly cpuMs: number;
    readonly residentBytes: number;
  }[];
  /** Write requests that its API server took, by everybody; undefined where it does not say. */
  readonly apiWrites: number | undefined;
}

/** Children of `rollcall up` leave a note each; it holds the lock itself, with the services in it. */
function hubPids(stateDir: string): Map<string, number> {
  const pids = new Map<string, number>();
  const holder = stateHolder(stateDir);
  if (holder !== undefined) pids.set('services', holder);
  for (const folder of [join(stateDir, 'run'), join(stateDir, 'kubernetes', 'run')]) {
    for (const file of notesIn(folder)) {
      const pid = readState<{ pid?: number }>(join(folder, file))?.pid;
      if (pid !== undefined) pids.set(file.replace(/\.json$/, ''), pid);
    }
  }
  return pids;
}

function notesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((file) => file.endsWith('.json'));
  } catch {
    return [];
  }
}

/** Requests that change something, as the API server counts them; dry runs and refused ones are no writes. */
export function countWrites(metrics: string): number {
  let writes = 0;
  for (const line of metrics.split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue;
    const isWrite = /verb="(?:POST|PUT|PATCH|APPLY|DELETE)"/.test(line) && /code="2\d\d"/.test(line);
    if (isWrite && /dry_run=""/.test(line)) writes += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return writes;
}

export async function readHubUsage(stateDir: string, admin: Pick<KubeClient, 'raw'>): Promise<HubUsage> {
  const processes = [...hubPids(stateDir)].flatMap(([name, pid]) => {
    const [used, resident] = [cpuMs(pid), residentBytes(pid)];
    return used === undefined || resident === undefined
      ? []
      : [{ name, cpuMs: used, residentBytes: resident }];
  });
  const metrics = await admin.raw('/metrics').catch(() => undefined);
  return { processes, apiWrites: metrics?.status === 200 ? countWrites(metrics.body) : undefined };
}
