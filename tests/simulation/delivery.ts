import { createKeyedQueue } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import { decodeEvent, type StoredEvent } from '@rollcall/shared/events';
import { type ConsumingService, consumedEvents } from '@rollcall/shared/rights';
import { afterFailure } from '../../libs/shared/decisions/after-failure.ts';
import { isUnderAny, type Stored } from './event-stream.ts';
import type { Replica } from './replica.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

const ackWaitMs = 30_000;

interface Delivery {
  readonly stored: Stored;
  count: number;
  isAcknowledged: boolean;
}

/** How a replica takes what is delivered; the other half of the adapter in libs/shared/decisions. */
export interface Consumer {
  take(stored: Stored): Promise<void>;
}

/** What consumeEvents does around a handler: one after another for each aggregate, unless told otherwise. */
export function createConsumer(options: {
  handle(event: StoredEvent): Promise<void>;
  ordered?: boolean;
}): Consumer {
  const queue = createKeyedQueue();
  return {
    async take({ subject, sequence, headers, body }) {
      const header = (name: string) => headers[name] ?? '';
      const event = decodeEvent({ subject, sequence, header, data: body });
      if (options.ordered === false) await options.handle(event);
      else await queue(`${event.kind}.${event.id}`, () => options.handle(event));
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
  readonly #open = new Set<Delivery>();

  constructor(world: World, service: ConsumingService) {
    this.#world = world;
    this.#service = service;
  }

  /** What is not acknowledged yet. */
  get open(): string[] {
    return [...this.#open].map(
      ({ stored, count }) =>
        `${this.#service} has not handled event ${stored.sequence} (delivered ${count} times)`,
    );
  }

  stored(stored: Stored): void {
    if (!isUnderAny(consumedEvents[this.#service], stored.subject)) return;
    const delivery = { stored, count: 0, isAcknowledged: false };
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
      if (delivery.isAcknowledged && !isExtra) return;
      const replica = this.#world.anyReplica(this.#service);
      // Nobody fetches now; the message stays in the stream.
      if (!replica?.consumer) return this.#deliverAfter(500, delivery, isExtra);
      if (!isExtra) delivery.count++;
      replica.run(() => this.#handle(replica, replica.consumer as Consumer, delivery));
      if (!isExtra) this.#watch(replica, delivery, delivery.count);
    });
  }

  /** A process that works says so; a dead or paused one does not, and after the ack wait another one is asked. */
  #watch(replica: Replica, delivery: Delivery, count: number): void {
    this.#world.scheduler.after(ackWaitMs, () => {
      if (delivery.isAcknowledged || delivery.count !== count) return;
      const { isAlive, pausedUntilMs } = replica.life;
      if (isAlive && pausedUntilMs <= this.#world.scheduler.nowMs && replica.handling.has(delivery))
        this.#watch(replica, delivery, count);
      else this.#deliverAfter(0, delivery);
    });
  }

  async #handle(replica: Replica, consumer: Consumer, delivery: Delivery): Promise<void> {
    const { scheduler, random, faults } = this.#world;
    const { stored } = delivery;
    replica.handling.add(delivery);
    try {
      await scheduler.wait(random.next(), replica.life);
      await replica.step();
      await consumer.take(stored);
      await scheduler.wait(random.next(), replica.life);
      await replica.step();
      if (faults.strikes('delivery.ack-lost')) return;
      delivery.isAcknowledged = true;
      this.#open.delete(delivery);
    } catch (thrown) {
      const next = afterFailure(toRollcallError(thrown), delivery.count);
      this.#world.note(replica.life.name, () => `fails at event ${stored.sequence}: ${String(thrown)}`);
      if (next.kind === 'bury') {
        const what = `${replica.life.name} gives event ${stored.sequence} up: ${String(thrown)}`;
        this.#world.fail(new Violation('no event ends as a dead letter', what));
        return;
      }
      this.#deliverAfter(next.delayMs, delivery);
    } finally {
      replica.handling.delete(delivery);
    }
  }
}
