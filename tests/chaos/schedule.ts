import { createRandom, type Random } from '../../cli/simulate/random.ts';
import type { NetworkState } from '../../cli/simulate/clusters/flaky-network.ts';
import { serviceNames } from '../harness/service-process.ts';

/** How a process is treated. `restart` is polite. */
export type Blow = 'kill' | 'pause' | 'restart';
/** What becomes of the disk that a NATS server writes to: it has no room, or it hangs again and again. */
export type DiskTrouble = 'fill' | 'stall';

/** What is done to whom, when, and for how long; afterwards it is healed. */
export interface Fault {
  /** From the beginning of the schedule. */
  readonly atMs: number;
  /**
   * `service registrar`, `nats 2`, `kube-apiserver`, `etcd`, `agents 1`, `network registrar`, `network agents 1`, `clock registrar`,
   * `clock agents 1`, `api projector` (the API server as that service meets it).
   */
  readonly target: string;
  readonly how: Blow | DiskTrouble | Exclude<NetworkState, 'open'> | 'step' | 'forget';
  readonly forMs: number;
  /** Of a clock: ahead of ours, or behind it. */
  readonly aheadMs?: number;
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
  /** Whether the NATS servers write to disks that can be full and hang. */
  readonly withDisks: boolean;
}

const lastsMs = 6000;
const leastFaults = 9;
const mostFaults = 13;
/** What loses answers begins before the first cluster joins, so that there is something to lose. */
const joinsFromMs = 1500;

const networks = ['cut', 'mute', 'half-open', 'slow'] as const;
const blows = ['kill', 'kill', 'pause', 'restart'] as const;
const diskTroubles = ['fill', 'stall'] as const;
const stepsMs = [5000, 90_000, 3_600_000].flatMap((stepMs) => [stepMs, -stepMs]);
/** Who writes to Kubernetes. */
export const kubernetesWriters = ['rbac-provisioner', 'projector'] as const;

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
    ...[...serviceNames, ...agents].map((name) => `clock ${name}`),
    ...kubernetesWriters.map((name) => `api ${name}`),
  ];
}

function faultAt(
  target: string,
  atMs: number,
  { random, withDisks }: { random: Random; withDisks: boolean },
): Fault {
  if (target.startsWith('network '))
    return { atMs, target, how: random.pick(networks), forMs: random.int(300, 4000) };
  if (target.startsWith('clock '))
    return { atMs, target, how: 'step', forMs: random.int(300, 4000), aheadMs: random.pick(stepsMs) };
  if (target.startsWith('api '))
    return { atMs: Math.min(atMs, joinsFromMs), target, how: 'forget', forMs: random.int(300, 4000) };
  if (withDisks && target.startsWith('nats ') && random.chance(0.5))
    return { atMs, target, how: random.pick(diskTroubles), forMs: random.int(300, 4000) };
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
    return faultAt(target, random.int(0, lastsMs), { random, withDisks: settings.withDisks });
  });
  return {
    seed,
    faults: faults.toSorted((a, b) => a.atMs - b.atMs),
    joinsAtMs: Array.from({ length: 2 }, () => random.int(joinsFromMs, lastsMs)).toSorted((a, b) => a - b),
    changeAtMs: random.int(0, lastsMs),
    leaveAtMs: random.int(0, lastsMs),
  };
}

export function describeFault({ atMs, target, how, forMs, aheadMs }: Fault): string {
  const by = aheadMs === undefined ? '' : ` by ${aheadMs / 1000} s`;
  return `${(atMs / 1000).toFixed(1)} s: ${how} ${target}${by} for ${(forMs / 1000).toFixed(1)} s`;
}
