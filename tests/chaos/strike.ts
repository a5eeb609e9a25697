import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from '../../cli/up/child-process-identity.ts';
import type { Fault } from './schedule.ts';
import type { Stage, Victim } from './stage.ts';

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

/** Does it, waits its time, and heals it. */
export async function strike(stage: Stage, fault: Fault): Promise<Strike> {
  const network = stage.networks.get(fault.target);
  const victim = stage.victims.get(fault.target);
  if (network) {
    const before = network.touched();
    network.become(fault.how as 'cut');
    // An idle connection feels nothing: somebody says something within a beat or a ping.
    await delay(fault.forMs);
    for (let waitedMs = 0; network.touched() === before && waitedMs < 25_000; waitedMs += 100)
      await delay(100);
    const touched = network.touched() - before;
    network.become('open');
    return { fault, evidence: touched > 0 ? `${touched} connections or messages were hit` : undefined };
  }
  if (!victim) throw new Error(`there is no ${fault.target}`);
  return { fault, evidence: await strikeProcess(victim, fault) };
}
