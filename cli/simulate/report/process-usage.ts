import { readFileSync } from 'node:fs';

/** The kernel counts CPU time in these, on every architecture that Node runs on. */
const ticksPerSecond = 100;

/** User and system time of a process and the children it has waited for; undefined once it is gone. Linux only. */
export function cpuMs(pid: number): number | undefined {
  const stat = readProc(pid, 'stat');
  // The name in parentheses may hold blanks, so what follows is counted from its end: fields 14 to 17 of proc(5).
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (!fields) return undefined;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return (ticks * 1000) / ticksPerSecond;
}

/** What all processes of the machine and its kernel have used, as `/proc/stat` counts it. Linux only. */
export function machineCpuMs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = line.split(/\s+/).slice(1).map(Number);
  return ((user + nice + system + irq + softIrq) * 1000) / ticksPerSecond;
}

/** VmRSS: what is in memory now, pages that processes share included. */
export function residentBytes(pid: number): number | undefined {
  return statusBytes(pid, 'VmRSS');
}

/** VmHWM: the most that was ever in memory. */
export function peakBytes(pid: number): number | undefined {
  return statusBytes(pid, 'VmHWM');
}

function statusBytes(pid: number, field: string): number | undefined {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readProc(pid, 'status') ?? '')?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
