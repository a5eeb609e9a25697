import { createKeyedQueue } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import type { StoredEvent } from '@rollcall/shared/events';
import { type ConsumingService, consumedEvents } from '@rollcall/shared/rights';
import { afterFailure } from '../../libs/shared/decisions/after-failure.ts';
import { isUnderAny } from './event-stream.ts';
import type { Replica } from './replica.ts';
import { nothingFollows } from './scheduler.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

const ackWaitMs = 30_000;

interface Delivery {
  readonly event: StoredEvent;
  count: number;
  isAcknowledged: boolean;
}

/** How a replica takes what is delivered; the other half of the adapter in libs/shared/decisions. */
export interface Consumer {
  take(event: StoredEvent): Promise<void>;
}

/** What consumeEvents does around a handler: one after another for each aggregate, unless told otherwise. */
export function createConsumer(options: {
  handle(event: StoredEvent): Promise<void>;
  ordered?: boolean;
}): Consumer {
  const queue = createKeyedQueue();
  return {
    async take(event) {
      if (options.ordered === false) return options.handle(event);
      return queue(`${event.kind}.${event.id}`, () => options.handle(event));
    },
  };
}

/**
 * The durable consumer of one service: every event at least once, to any of its replicas, again when nobody has
 * acknowledged it in time, and late or twice when a fault says so.
 */
export class DurableConsumer {
  readonly #world: World;
  readonly #service: ConsumingService;
  readonly #concerns: (event: StoredEvent) => boolean;
  readonly #open = new Set<Delivery>();

  constructor(world: World, service: ConsumingService) {
    this.#world = world;
    this.#service = service;
    this.#concerns = isUnderAny(consumedEvents[service]);
  }

  /** What is not acknowledged yet. */
  get open(): string[] {
    return [...this.#open].map(
      ({ event, count }) =>
        `${this.#service} has not handled event ${event.sequence} (delivered ${count} times)`,
    );
  }

  stored(event: StoredEvent): void {
    if (!this.#concerns(event)) return;
    const delivery = { event, count: 0, isAcknowledged: false };
    this.#open.add(delivery);
    this.#deliverAfter(this.#delayMs(), delivery);
    if (this.#world.faults.strikes('delivery.twice'))
      this.#deliverAfter(this.#world.random.int(0, 20_000), delivery, true);
  }

  #delayMs(): number {
    const { random, faults } = this.#world;
    return faults.strikes('delivery.late') ? random.int(10, 8000) : random.next() * 3;
  }

  #deliverAfter(delayMs: number, delivery: Delivery, isExtra = false): void {
    this.#world.scheduler.after(delayMs, () => {
      if (delivery.isAcknowledged && !isExtra) return nothingFollows;
      const replica = this.#world.anyReplica(this.#service);
      // Nobody fetches now; the message stays in the stream.
      if (!replica?.consumer) {
        this.#deliverAfter(500, delivery, isExtra);
        return nothingFollows;
      }
      if (!isExtra) delivery.count++;
      replica.run(() => this.#handle(replica, replica.consumer as Consumer, delivery));
      if (!isExtra) this.#watch(replica, delivery, delivery.count);
      return undefined;
    });
  }

  /** A process that works says so; a dead or paused one does not, and after the ack wait another one is asked. */
  #watch(replica: Replica, delivery: Delivery, count: number): void {
    this.#world.scheduler.after(ackWaitMs, () => {
      if (delivery.isAcknowledged || delivery.count !== count) return nothingFollows;
      const { isAlive, pausedUntilMs } = replica.life;
      if (isAlive && pausedUntilMs <= this.#world.scheduler.nowMs && replica.handling.has(delivery))
        this.#watch(replica, delivery, count);
      else this.#deliverAfter(0, delivery);
      return nothingFollows;
    });
  }

  async #handle(replica: Replica, consumer: Consumer, delivery: Delivery): Promise<void> {
    const { scheduler, random, faults } = this.#world;
    const { event } = delivery;
    replica.handling.add(delivery);
    try {
      await replica.step();
      await consumer.take(event);
      await scheduler.wait(random.next(), replica.life);
      await replica.step();
      if (faults.strikes('delivery.ack-lost')) return;
      delivery.isAcknowledged = true;
      this.#open.delete(delivery);
    } catch (thrown) {
      const next = afterFailure(toRollcallError(thrown), {
        deliveries: delivery.count,
        alike: delivery.count,
      });
      this.#world.note(replica.life.name, () => `fails at event ${event.sequence}: ${String(thrown)}`);
      if (next.kind !== 'again') {
        const what = `${replica.life.name} gives event ${event.sequence} up: ${String(thrown)}`;
        this.#world.fail(new Violation('no event ends as a dead letter', what));
        return;
      }
      this.#deliverAfter(next.delayMs, delivery);
    } finally {
      replica.handling.delete(delivery);
    }
  }
}
