import { createRandom, type Random } from '../../cli/simulate/random.ts';
import { wantedMultiplier } from '../../services/heartbeat/interval/decide-interval.ts';
import { wantedReturnMs } from '../../services/heartbeat/interval/reconnect-window.ts';
import { createLimiter, type Limiter } from './queues/limiter.ts';
import { createMachine, type Machine, type Process } from './queues/machine.ts';
import type { Numbers } from './numbers/numbers.ts';
import { createTimeline, type Timeline } from './queues/timeline.ts';

type Service = 'registrar' | 'approver' | 'provisioner' | 'heartbeat' | 'projector' | 'account-controller';

/** A hub with its fleet, at the moment 0 of simulated time. */
export interface World {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly numbers: Numbers;
  readonly clusters: number;
  /** So many agents are followed as one, whose work is that of all of them. */
  readonly grain: number;
  readonly machines: readonly Machine[];
  /** The first of them leads the streams. */
  readonly nats: readonly Process[];
  /** What a server does on one core, whatever it has. */
  readonly claims: readonly Process[];
  readonly api: Process;
  readonly etcd: Process;
  readonly of: Readonly<Record<Service, readonly Process[]>>;
  /** Where agents share the machine: theirs; else they have machines of their own, and cost nobody anything. */
  readonly agents: readonly Process[];
  readonly writeBudgets: readonly Limiter[];
  /** As the heartbeat service would tell this fleet. */
  readonly heartbeatIntervalMs: number;
  readonly returnWithinMs: number | undefined;
  readonly heartbeatsPerSecond: number;
}

export interface WorldOptions {
  readonly numbers: Numbers;
  readonly clusters: number;
  readonly seed: number;
  readonly grain?: number;
}

function countOf(service: Service, { replicas, registrars, heartbeatParts }: Numbers): number {
  if (service === 'registrar') return registrars;
  return service === 'heartbeat' ? replicas * heartbeatParts : replicas;
}

const range = (count: number) => Array.from({ length: Math.max(1, count) }, (_, index) => index);

/** The hub's own rules about a fleet of that size. */
export function rulesFor(clusters: number, numbers: Numbers) {
  const { heartbeatsPerSecond: ceilingPerSecond, returnsPerSecond, intervalSeconds } = numbers;
  const nominalPerSecond = clusters / intervalSeconds;
  const multiplier = wantedMultiplier(1, { nominalPerSecond, ceilingPerSecond });
  return {
    multiplier,
    heartbeatIntervalMs: intervalSeconds * 1000 * multiplier,
    heartbeatsPerSecond: nominalPerSecond / multiplier,
    returnWithinMs: wantedReturnMs(undefined, { clusters, returnsPerSecond }),
  };
}

export function createWorld({ numbers, clusters, seed, grain = 1 }: WorldOptions): World {
  const timeline = createTimeline();
  const machines: Machine[] = [];
  const machine = (name: string, cores: number): Machine => {
    const made = createMachine(timeline, { name, cores });
    machines.push(made);
    return made;
  };
  const { sharedCores } = numbers;
  const shared = sharedCores > 0 ? machine('everything', sharedCores) : undefined;
  const natsMachines = range(numbers.natsServers).map(
    (index) => shared ?? machine(`NATS server ${index + 1}`, numbers.natsCores),
  );
  const plane = shared ?? machine('API server and etcd', numbers.apiCores);
  const allServices = shared?.process('services', 1);
  const replicasOf = (service: Service): Process[] =>
    range(countOf(service, numbers)).map(
      (index) => allServices ?? machine(`${service} ${index + 1}`, 1).process(service),
    );
  const world: World = {
    timeline,
    random: createRandom(seed),
    numbers,
    clusters,
    grain,
    machines,
    nats: natsMachines.map((each) => each.process('nats-server')),
    claims: natsMachines.map((each) => each.process('claims', 1)),
    api: plane.process('kube-apiserver'),
    etcd: plane.process('etcd'),
    of: {
      registrar: replicasOf('registrar'),
      approver: replicasOf('approver'),
      provisioner: replicasOf('provisioner'),
      heartbeat: replicasOf('heartbeat'),
      projector: replicasOf('projector'),
      'account-controller': replicasOf('account-controller'),
    },
    agents: shared ? [shared.process('agents 1', 1), shared.process('agents 2', 1)] : [],
    writeBudgets: range(numbers.replicas).map(() =>
      createLimiter(timeline, { perSecond: numbers.projectorWritesPerSecond }),
    ),
    ...rulesFor(clusters, numbers),
  };
  takeHeartbeats(world);
  return world;
}

/** Each server has the heartbeats of its own agents, and sends them on to those that a heartbeat service is connected to. */
function takeHeartbeats({ numbers, nats, of, heartbeatsPerSecond }: World): void {
  const second = heartbeatsPerSecond / 1e6;
  for (const { machine } of nats) machine.takeCores((second / nats.length) * numbers.natsHeartbeatUs);
  const parts = numbers.heartbeatParts;
  for (const [index, { machine }] of of.heartbeat.entries()) {
    machine.takeCores((second / parts) * numbers.heartbeatUs);
    const routed = (second / parts) * (1 - 1 / nats.length);
    nats[index % nats.length]?.machine.takeCores(routed * numbers.routedHeartbeatUs);
  }
}

/** Of work for a join, what each replica does because it hears the same events. */
const eachShare = {
  registrar: 'registrarEachShare',
  approver: 'approverEachShare',
  provisioner: 'provisionerEachShare',
  projector: 'projectorEachShare',
  'account-controller': 'accountEachShare',
} as const satisfies Partial<Record<Service, keyof Numbers>>;

/** Work of a service for a join: one replica does it, and the others hear of it. */
export function serve(
  world: World,
  { by, replica, costMs }: { by: keyof typeof eachShare; replica: number; costMs: number },
  then: () => void,
): void {
  const { numbers, of } = world;
  const ofOneMs = costMs * (numbers.sharedCores > 0 ? 1 : numbers.apartTimes);
  for (const [index, on] of of[by].entries()) {
    if (index === replica) work(world, { on, costMs: ofOneMs }, then);
    else work(world, { on, costMs: ofOneMs * numbers[eachShare[by]] });
  }
}

/** One of several, as a queue group or a list of addresses has it. */
export function anyOf<Item>({ random }: Pick<World, 'random'>, items: readonly Item[]): Item {
  return random.pick(items);
}

/** Work of one agent, or of as many as one stands for. */
export function work(
  { grain }: Pick<World, 'grain'>,
  { on, costMs, patienceMs }: { on: Process; costMs: number; patienceMs?: number },
  then?: (isDone: boolean) => void,
): void {
  on.submit(costMs * grain, {
    ...(then ? { whenOver: then } : {}),
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
}

/** The same step so many times, one after the other. */
export function inTurn(times: number, step: (next: () => void) => void, then: () => void): void {
  if (times <= 0) return then();
  step(() => inTurn(times - 1, step, then));
}
