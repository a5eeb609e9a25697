import type { StoredEvent } from '@rollcall/shared/events';
import type { ConsumingService } from '@rollcall/shared/rights';
import { DurableConsumer } from './delivery.ts';
import { EventStream } from './event-stream.ts';
import type { FaultKind, Faults } from './faults.ts';
import { createFaults } from './faults.ts';
import { KubeServer } from './kube-server.ts';
import { createRandom, type Random } from '../../cli/simulate/random.ts';
import { type Heard, Replica, type ServiceName, serviceNames } from './replica.ts';
import { Scheduler } from './scheduler.ts';
import { startService } from './services.ts';
import { FactState } from './simulated-log.ts';
import { NatsAccount } from './nats-account.ts';
import type { Violation } from './violation.ts';

/** 2026-01-01T00:00:00Z */
const startMs = Date.UTC(2026, 0, 1);

export interface WorldOptions {
  readonly seed: number;
  readonly counts: Map<FaultKind, number>;
  /** Keeps the history of the seed in words. */
  readonly print: boolean;
  onAppended(batch: readonly StoredEvent[]): void;
}

/** Most seeds are small: what goes wrong mostly needs two processes and one change, and many small histories are lived in the time of one large. */
const sizes = {
  small: { replicas: [1, 1, 1, 1, 2], members: [1, 1, 2], acts: 4, lastActMs: [1000, 3000, 8000] },
  large: { replicas: [1, 1, 2, 2, 3], members: [1, 2, 3], acts: 10, lastActMs: [3000, 8000, 20_000, 60_000] },
} as const;
export type Size = (typeof sizes)[keyof typeof sizes];

/** Everything there is in one seed. */
export class World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly stream: EventStream;
  readonly kube: KubeServer;
  readonly size: Size;
  readonly facts = new FactState();
  readonly account = new NatsAccount();
  readonly history: string[] = [];
  /** Whose append is being stored. */
  writing: Replica | undefined;
  conflicts = 0;
  kubeAwayUntilMs = 0;
  violation: Violation | undefined;
  /** How an answer gets to an agent; of who plays the agents. */
  #answer: ((subject: string, data: Uint8Array) => void) | undefined;
  readonly #print: boolean;
  readonly #consumers = new Map<ServiceName, DurableConsumer>();
  readonly #replicas: Replica[] = [];
  #started = 0;

  constructor(options: WorldOptions) {
    this.random = createRandom(options.seed);
    this.scheduler = new Scheduler(startMs, this.random);
    this.faults = createFaults(this.random, options.counts);
    this.kube = new KubeServer(this.scheduler);
    this.size = sizes[this.random.chance(0.85) ? 'small' : 'large'];
    this.#print = options.print;
    this.stream = new EventStream((batch) => {
      for (const event of batch) this.note(this.writing?.life.name ?? '?', () => describe(event));
      options.onAppended(batch);
      for (const event of batch) this.#tell(event);
    });
  }

  /** Starts one to three replicas of each service. */
  start(): void {
    for (const service of serviceNames) {
      if (service !== 'heartbeat')
        this.#consumers.set(service, new DurableConsumer(this, service as ConsumingService));
      const replicas = this.random.pick<number>(this.size.replicas);
      for (let count = 0; count < replicas; count++) this.#startReplica(service);
    }
  }

  #tell(event: StoredEvent): void {
    for (const consumer of this.#consumers.values()) consumer.stored(event);
    if (event.kind === 'cluster') this.tellAll('heartbeat', { kind: 'event', event });
  }

  #startReplica(service: ServiceName): void {
    const skewMs = this.random.chance(0.7) ? 0 : this.random.int(-30_000, 30_000);
    const replica = new Replica(this, service, { name: `${service} ${++this.#started}`, skewMs });
    this.#replicas.push(replica);
    replica.run(() => startService(this, replica));
  }

  crash(replica: Replica): void {
    this.note(replica.life.name, () => 'is killed');
    replica.end();
    this.#replicas.splice(this.#replicas.indexOf(replica), 1);
    this.scheduler.after(this.random.int(10, 5000), () => this.#startReplica(replica.service));
  }

  anyReplica(service: ServiceName): Replica | undefined {
    const all = this.replicasOf(service);
    return all.length === 0 ? undefined : this.random.pick(all);
  }

  replicasOf(service: ServiceName): Replica[] {
    return this.#replicas.filter((replica) => replica.service === service);
  }

  /** To every replica, each a little later, without anybody checking that it came. */
  tellAll(service: ServiceName, what: Heard): void {
    for (const replica of this.replicasOf(service)) this.tell(replica, what);
  }

  tell(replica: Replica, what: Heard): void {
    const say = () => replica.run(async () => replica.hear(what));
    this.scheduler.after(this.random.next() * 3, say, replica.life);
  }

  factsChanged(clusterId: string): void {
    const projector = this.anyReplica('projector');
    if (projector) this.tell(projector, { kind: 'facts', clusterId });
  }

  onAnswer(listener: (subject: string, data: Uint8Array) => void): void {
    this.#answer = listener;
  }

  answer(subject: string, data: Uint8Array): void {
    this.#answer?.(subject, data);
  }

  get openDeliveries(): string[] {
    return [...this.#consumers.values()].flatMap(({ open }) => open);
  }

  fail(violation: Violation): void {
    this.violation ??= violation;
  }

  /** A line of the history that a failing seed prints. */
  note(who: string, what: () => string): void {
    if (!this.#print) return;
    const atS = ((this.scheduler.nowMs - startMs) / 1000).toFixed(3).padStart(9);
    this.history.push(`${atS}  ${who.padEnd(18)} ${what()}`);
  }
}

function describe({ sequence, kind, id, type, reason, section }: StoredEvent): string {
  const shown = JSON.stringify(section, (key, value: unknown) =>
    ['claimed', 'labels', 'taints', 'heartbeat', 'droppedLabels', 'message'].includes(key)
      ? undefined
      : value,
  );
  return `#${sequence} ${kind}.${id}.${type} (${reason}) ${shown}`;
}
