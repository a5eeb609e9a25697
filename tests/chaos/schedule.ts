import { createRandom, type Random } from '../../cli/simulate/random.ts';
import type { NetworkState } from '../../cli/simulate/flaky-network.ts';
import { serviceNames } from '../harness/service-process.ts';

/** How a process is treated. `restart` is polite. */
export type Blow = 'kill' | 'pause' | 'restart';

/** What is done to whom, when, and for how long; afterwards it is healed. */
export interface Fault {
  /** From the beginning of the schedule. */
  readonly atMs: number;
  /** `service registrar`, `nats 2`, `kube-apiserver`, `etcd`, `agents 1`, `network registrar`, `network agents 1`. */
  readonly target: string;
  readonly how: Blow | Exclude<NetworkState, 'open'>;
  readonly forMs: number;
}

export interface Schedule {
  readonly seed: number;
  readonly faults: readonly Fault[];
  /** How many clusters join, at which times. */
  readonly joinsAtMs: readonly number[];
  /** When one that is there gets another label, and when one leaves. */
  readonly changeAtMs: number;
  readonly leaveAtMs: number;
}

export interface ChaosSettings {
  readonly servers: 1 | 3;
  readonly agentProcesses: number;
}

const lastsMs = 6000;
const leastFaults = 7;
const mostFaults = 10;

const networks = ['cut', 'mute', 'half-open', 'slow'] as const;
const blows = ['kill', 'kill', 'pause', 'restart'] as const;

/** Where faults can strike. Over three servers a client finds the others by itself, around any proxy. */
function targets({ servers, agentProcesses }: ChaosSettings): string[] {
  const agents = Array.from({ length: agentProcesses }, (_, index) => `agents ${index + 1}`);
  return [
    ...serviceNames.map((name) => `service ${name}`),
    ...Array.from({ length: servers }, (_, index) => `nats ${index + 1}`),
    'kube-apiserver',
    'etcd',
    ...agents,
    ...agents.map((name) => `network ${name}`),
    ...(servers === 1 ? serviceNames.map((name) => `network ${name}`) : []),
  ];
}

function faultAt(target: string, atMs: number, random: Random): Fault {
  if (target.startsWith('network '))
    return { atMs, target, how: random.pick(networks), forMs: random.int(300, 4000) };
  const how = random.pick(blows);
  return { atMs, target, how, forMs: how === 'pause' ? random.int(500, 4000) : random.int(0, 1500) };
}

/** The same seed is the same schedule. One thing at a time happens to each target. */
export function scheduleOf(seed: number, settings: ChaosSettings): Schedule {
  const random = createRandom(seed);
  const left = targets(settings);
  const count = random.int(leastFaults, mostFaults);
  const faults = Array.from({ length: count }, () => {
    const [target = ''] = left.splice(random.int(0, left.length - 1), 1);
    return faultAt(target, random.int(0, lastsMs), random);
  });
  return {
    seed,
    faults: faults.toSorted((a, b) => a.atMs - b.atMs),
    joinsAtMs: Array.from({ length: 2 }, () => random.int(0, lastsMs)).toSorted((a, b) => a - b),
    changeAtMs: random.int(0, lastsMs),
    leaveAtMs: random.int(0, lastsMs),
  };
}

export function describeFault({ atMs, target, how, forMs }: Fault): string {
  return `${(atMs / 1000).toFixed(1)} s: ${how} ${target} for ${(forMs / 1000).toFixed(1)} s`;
}
