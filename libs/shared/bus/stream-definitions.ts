import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { consumedEvents, consumersOf, type ConsumingService } from '@rollcall/shared/rights';
import { streamManager } from './stream-manager.ts';

const secondNs = 1_000_000_000;
/** Events of one consumer that are being handled: one more is delivered once one of them is acknowledged. */
const mostPending = 1000;
/**
 * The account-controller holds what leaves until its next batch goes, ten seconds at most: at 400 a second, more than an approver
 * decides, that keeps no key waiting that a person takes back.
 */
const mostPendingOfCuts = 4000;

/** EVENTS is trimmed by nobody but `rollcall history archive`, FACTS keeps the newest of each cluster until it has left, DEAD keeps what could not be handled. */
const streams = [
  {
    name: 'EVENTS',
    subjects: ['rollcall.events.>'],
    // What is heard live is what was stored, with its place; a message that the stream refused is heard by nobody.
    republish: { src: 'rollcall.events.>', dest: 'rollcall.stored.>' },
    allow_direct: true,
    allow_atomic: true,
    // Who may delete single events is said by the rights (role `archive`).
    deny_delete: false,
    deny_purge: true,
    discard: DiscardPolicy.New,
    max_msg_size: 262_144,
  },
  {
    name: 'FACTS',
    subjects: ['rollcall.facts.*'],
    republish: { src: 'rollcall.facts.*', dest: 'rollcall.stored-facts.{{wildcard(1)}}' },
    allow_direct: true,
    // Of a cluster that has left they are forgotten, by a message that ends.
    allow_msg_ttl: true,
    max_msgs_per_subject: 1,
    max_msg_size: 131_072,
  },
  {
    name: 'DEAD',
    // A dead letter ends after 30 days; what is held says so itself, and is replaced once it is done. No roll-up headers:
    // whoever may write one subject could empty the whole stream by them (measured).
    subjects: ['rollcall.dead.*.*', 'rollcall.held.*.*'],
    allow_direct: true,
    allow_msg_ttl: true,
    max_msgs_per_subject: 1,
    max_age: 30 * 86_400 * secondNs,
  },
] as const;

/**
 * Makes or updates the streams and each service's durable consumers. Run by whoever installs a hub (role `setup`):
 * no service may create consumers.
 * @param options.handled - of a restored hub: up to which event each consumer had handled them; a consumer that is there already
 *   stays where it is
 */
export async function setUpStreams(
  nc: NatsConnection,
  options: { replicas: number; handled?: Readonly<Record<string, number>> },
): Promise<void> {
  const jsm = await jetstreamManager(nc);
  for (const stream of streams) {
    const config = {
      ...stream,
      subjects: [...stream.subjects],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      num_replicas: options.replicas,
      // Nobody uses Nats-Msg-Id here: it is stream-wide, so one writer's id could burn another's (measured).
      duplicate_window: secondNs / 10,
    };
    const found = await jsm.streams.info(stream.name).catch(() => undefined);
    if (!found) await jsm.streams.add(config);
    // The server never allows again what a stream of an earlier version refuses.
    else await jsm.streams.update(stream.name, { ...config, deny_delete: found.config.deny_delete });
  }
  for (const service of Object.keys(consumedEvents) as ConsumingService[]) {
    // One that comes beside another begins where that one stands.
    let standsAt: number | undefined;
    for (const { name, filters } of consumersOf(service)) {
      const config = {
        durable_name: name,
        filter_subjects: filters.map((filter) => `rollcall.events.${filter}`),
        ack_policy: AckPolicy.Explicit,
        deliver_policy: DeliverPolicy.All,
        ack_wait: 30 * secondNs,
        max_ack_pending: service === 'account-controller' ? mostPendingOfCuts : mostPending,
        max_deliver: -1,
      };
      const found = await jsm.consumers.info('EVENTS', name).catch(() => undefined);
      if (!found) {
        const handled = options.handled?.[name] ?? options.handled?.[service] ?? standsAt ?? 0;
        const begins =
          handled > 0 ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: handled + 1 } : {};
        await jsm.consumers.add('EVENTS', { ...config, ...begins });
        continue;
      }
      standsAt ??= found.ack_floor.stream_seq;
      // Where it began cannot be changed, and after a restore that is not the first event.
      const { deliver_policy, opt_start_seq } = found.config;
      const began = opt_start_seq === undefined ? { deliver_policy } : { deliver_policy, opt_start_seq };
      await jsm.consumers.update('EVENTS', name, { ...config, ...began });
    }
  }
}

/** Takes the services' consumers away, so that `setUpStreams` makes them anew at another place. */
export async function forgetConsumers(nc: NatsConnection): Promise<void> {
  const jsm = await streamManager(nc);
  for (const service of Object.keys(consumedEvents) as ConsumingService[])
    for (const { name } of consumersOf(service)) await jsm.consumers.delete('EVENTS', name);
}
