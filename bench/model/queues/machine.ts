import { createTimes, type Times } from './times.ts';
import type { Timeline } from './timeline.ts';

/** Some cores, and processes that want them: who has waited longest is next, as far as its process may run on another core. */
export interface Machine {
  readonly name: string;
  readonly cores: number;
  process(name: string, threads?: number): Process;
  readonly processes: readonly Process[];
  /** Work that is too small and too much to be followed one by one (heartbeats): so many cores have no time for anything else. */
  takeCores(cores: number): void;
  takenCores(): number;
  /** Of all cores, what is taken and what worked in the time up to now. */
  busyShare(): number;
  /** The same of what was asked of it in the worst ten seconds: above 1 a queue grew. */
  peakShare(): number;
}

export interface Process {
  readonly name: string;
  readonly machine: Machine;
  /**
   * @param work.whenOver - told whether it was done
   * @param work.patienceMs - who has waited that long is gone: it is not begun
   */
  submit(costMs: number, work: { whenOver?(isDone: boolean): void; patienceMs?: number }): void;
  readonly waits: Times;
  workedMs(): number;
  submitted(): number;
  done(): number;
  gaveUp(): number;
}

interface Job {
  readonly costMs: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly whenOver: ((isDone: boolean) => void) | undefined;
}

/** First in, first out, without moving what is behind. */
function createQueue() {
  let jobs: Job[] = [];
  let head = 0;
  return {
    push: (job: Job) => void jobs.push(job),
    first: (): Job | undefined => jobs[head],
    shift(): void {
      head++;
      if (head < 4096 || head * 2 < jobs.length) return;
      jobs = jobs.slice(head);
      head = 0;
    },
  };
}

const windowMs = 10_000;
/** However much is taken, something of the machine is left: the share says by itself that it is too much. */
const leastLeft = 0.01;

export function createMachine(timeline: Timeline, { name, cores }: { name: string; cores: number }): Machine {
  const processes: (Process & { next(): Job | undefined; begin(): void })[] = [];
  const asked = new Map<number, number>();
  let [running, taken, workedMs] = [0, 0, 0];

  /** What is taken makes everything else slower. */
  const slowness = () => 1 / Math.max(leastLeft, 1 - taken / cores);

  function pump(): void {
    for (;;) {
      if (running >= cores) return;
      let longest: { since: number; begin(): void } | undefined;
      for (const { next, begin } of processes) {
        const job = next();
        if (job && (longest === undefined || job.sinceMs < longest.since)) {
          longest = { since: job.sinceMs, begin };
        }
      }
      if (!longest) return;
      longest.begin();
    }
  }

  const machine: Machine = {
    name,
    cores,
    processes,
    takeCores: (more) => void (taken += more),
    takenCores: () => taken,
    busyShare: () => (taken + (timeline.nowMs() === 0 ? 0 : workedMs / timeline.nowMs())) / cores,
    peakShare: () => (taken + Math.max(0, ...asked.values()) / windowMs) / cores,
    process(processName, threads = cores) {
      const queue = createQueue();
      const waits = createTimes();
      let [busy, own, submitted, done, gaveUp] = [0, 0, 0, 0, 0];

      function end({ costMs, whenOver }: Job): void {
        running--;
        busy--;
        own += costMs;
        done++;
        whenOver?.(true);
        pump();
      }
      const process = {
        name: processName,
        machine,
        waits,
        workedMs: () => own,
        submitted: () => submitted,
        done: () => done,
        gaveUp: () => gaveUp,
        next(): Job | undefined {
          if (busy >= threads) return undefined;
          for (let job = queue.first(); job; job = queue.first()) {
            if (job.untilMs >= timeline.nowMs()) return job;
            queue.shift();
            gaveUp++;
            const { whenOver } = job;
            timeline.after(0, () => whenOver?.(false));
          }
          return undefined;
        },
        begin() {
          const job = queue.first();
          if (!job) return;
          queue.shift();
          running++;
          busy++;
          workedMs += job.costMs;
          waits.add(timeline.nowMs() - job.sinceMs);
          timeline.after(job.costMs * slowness(), () => end(job));
        },
        submit(costMs: number, work: { whenOver?(isDone: boolean): void; patienceMs?: number }) {
          const nowMs = timeline.nowMs();
          submitted++;
          const window = Math.floor(nowMs / windowMs);
          asked.set(window, (asked.get(window) ?? 0) + costMs);
          const { patienceMs = Number.POSITIVE_INFINITY, whenOver } = work;
          queue.push({ costMs, sinceMs: nowMs, untilMs: nowMs + patienceMs, whenOver });
          pump();
        },
      };
      processes.push(process);
      return process;
    },
  };
  return machine;
}
