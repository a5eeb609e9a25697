import { nowMs } from './clock.ts';
import { cpuMs, machineCpuMs } from '../../cli/simulate/report/process-usage.ts';

/** CPU time that named processes used in a stretch of time. */
export interface UsageWindow {
  readonly lastedMs: number;
  readonly cpuMs: Readonly<Record<string, number>>;
}

/** @returns what ends the window */
export function openUsageWindow(pids: Readonly<Record<string, number>>): () => UsageWindow {
  const startMs = nowMs();
  const before = read(pids);
  return () => {
    const after = read(pids);
    const used = Object.keys(pids).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]);
    return { lastedMs: nowMs() - startMs, cpuMs: Object.fromEntries(used) };
  };
}

/** The rest of the machine, beside the named processes: in a measurement that was not alone it is more than its own kernel. */
const everybodyElse = 'everybody else';

/** As `openUsageWindow`, with everybody else. */
export function openMachineWindow(pids: Readonly<Record<string, number>>): () => UsageWindow {
  const before = machineCpuMs();
  const end = openUsageWindow(pids);
  return () => {
    const window = end();
    const used = Object.values(window.cpuMs).reduce((sum, one) => sum + one, 0);
    const others = machineCpuMs() - before - used;
    return { ...window, cpuMs: { ...window.cpuMs, [everybodyElse]: others } };
  };
}

/** How many cores each of them had on average. */
export function usedCores({ cpuMs: used, lastedMs }: UsageWindow): Record<string, number> {
  return Object.fromEntries(Object.entries(used).map(([name, usedMs]) => [name, usedMs / lastedMs]));
}

function read(pids: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuMs(pid) ?? 0]));
}
