import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FlakyNetwork } from '../../cli/simulate/clusters/flaky-network.ts';
import { processIdentity } from '../../cli/up/process/child-process-identity.ts';
import type { Clock } from './clock.ts';
import type { ForgetfulApi } from './forgetful-api.ts';
import type { Fault } from './schedule.ts';
import type { Stage } from './stage.ts';
import type { StageDisk } from './stage-disks.ts';
import type { Victim } from './victims.ts';

/** What shows that a fault happened; `undefined`: it did not, and the schedule proves nothing. */
export interface Strike {
  readonly fault: Fault;
  readonly evidence: string | undefined;
}

const isGone = (pid: number) => processIdentity(pid) === undefined;

function isStopped(pid: number): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

async function strikeProcess(victim: Victim, { how, forMs }: Fault): Promise<string | undefined> {
  const pid = victim.pid();
  if (how === 'pause') {
    process.kill(pid, 'SIGSTOP');
    await delay(forMs);
    const was = isStopped(pid);
    process.kill(pid, 'SIGCONT');
    return was ? `process ${pid} was stopped` : undefined;
  }
  await (how === 'kill' ? victim.kill() : victim.stop());
  const hasEnded = isGone(pid);
  await delay(forMs);
  await victim.start();
  return hasEnded && victim.pid() !== pid ? `process ${pid} ended, ${victim.pid()} took over` : undefined;
}

/** For what must happen to somebody: an idle connection feels nothing, and somebody says something within a heartbeat or a ping. */
const hitWithinMs = 60_000;
const lookEveryMs = 50;

/** @returns how often somebody was hit, by a count that grows */
async function untilHit(count: () => number, before: number): Promise<number> {
  for (let waitedMs = 0; count() === before && waitedMs < hitWithinMs; waitedMs += lookEveryMs)
    await delay(lookEveryMs);
  return count() - before;
}

async function strikeNetwork(network: FlakyNetwork, { how, forMs }: Fault): Promise<string | undefined> {
  const before = network.touched();
  network.become(how as 'cut');
  await delay(forMs);
  const touched = await untilHit(() => network.touched(), before);
  network.become('open');
  return touched > 0 ? `${touched} connections or messages were hit` : undefined;
}

async function strikeApi(api: ForgetfulApi, { forMs }: Fault): Promise<string | undefined> {
  const before = api.forgotten();
  api.forget(true);
  await delay(forMs);
  const forgotten = await untilHit(() => api.forgotten(), before);
  api.forget(false);
  return forgotten > 0 ? `${forgotten} writes were done and not answered` : undefined;
}

async function strikeClock(clock: Clock, { forMs, aheadMs = 0 }: Fault): Promise<string | undefined> {
  const evidence = await clock.setAhead(aheadMs);
  await delay(forMs);
  return (await clock.setAhead(0)) && evidence;
}

async function fillDisk({ disk, refusedWrites }: StageDisk, { forMs }: Fault): Promise<string | undefined> {
  const before = refusedWrites();
  await disk.fill();
  const refused = await untilHit(refusedWrites, before);
  await delay(forMs);
  await disk.makeRoom();
  return refused > 0 ? `${refused} errors of the NATS server for want of space` : undefined;
}

const stalledMs = 150;

async function stallDisk(
  { disk }: StageDisk,
  { forMs, waitingWriters }: { forMs: number; waitingWriters: () => number },
): Promise<string | undefined> {
  let waited = 0;
  const endMs = performance.now() + forMs;
  for (const giveUpMs = endMs + hitWithinMs; performance.now() < (waited > 0 ? endMs : giveUpMs);) {
    await disk.hang();
    await delay(stalledMs);
    waited += waitingWriters();
    await disk.goOn();
    await delay(lookEveryMs);
  }
  return waited > 0 ? `${waited} times a writer was found waiting` : undefined;
}

/** Threads that wait for a device and cannot be woken. */
function threadsInWait(pid: number): number {
  const task = `/proc/${pid}/task`;
  return readdirSync(task).filter((thread) =>
    /^State:\s+D/m.test(readFileSync(join(task, thread, 'status'), 'utf8')),
  ).length;
}

async function evidenceOf(stage: Stage, fault: Fault): Promise<string | undefined> {
  const { target, how, forMs } = fault;
  const network = stage.networks.get(target);
  if (network) return strikeNetwork(network, fault);
  const api = stage.apis.get(target);
  if (api) return strikeApi(api, fault);
  const clock = stage.clocks.get(target);
  if (clock) return strikeClock(clock, fault);
  const victim = stage.victims.get(target);
  if (!victim) throw new Error(`there is no ${target}`);
  const disk = stage.disks.get(target);
  if (disk && how === 'fill') return fillDisk(disk, fault);
  if (disk && how === 'stall')
    return stallDisk(disk, { forMs, waitingWriters: () => threadsInWait(victim.pid()) });
  return strikeProcess(victim, fault);
}

/** Does it, waits its time, and heals it. */
export async function strike(stage: Stage, fault: Fault): Promise<Strike> {
  return { fault, evidence: await evidenceOf(stage, fault) };
}
