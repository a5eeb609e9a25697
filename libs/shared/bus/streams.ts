import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { consumedEvents, type ConsumingService } from '@rollcall/shared/rights';

const secondNs = 1_000_000_000;

/** EVENTS is never trimmed, FACTS keeps the newest of each cluster, DEAD keeps what could not be handled. */
const streams = [
  {
    name: 'EVENTS',
    subjects: ['rollcall.events.>'],
    allow_direct: true,
    allow_atomic: true,
    deny_delete: true,
    deny_purge: true,
    discard: DiscardPolicy.New,
    max_msg_size: 262_144,
  },
  {
    name: 'FACTS',
    subjects: ['rollcall.facts.*'],
    allow_direct: true,
    max_msgs_per_subject: 1,
    max_msg_size: 131_072,
  },
  { name: 'DEAD', subjects: ['rollcall.dead.*'], allow_direct: true, max_age: 30 * 86_400 * secondNs },
] as const;

/**
 * Makes or updates the streams and each service's durable consumer. Run by whoever installs a hub (role `setup`):
 * no service may create consumers.
 */
export async function setUpStreams(nc: NatsConnection, options: { replicas: number }): Promise<void> {
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
    const exists = await jsm.streams.info(stream.name).then(
      () => true,
      () => false,
    );
    await (exists ? jsm.streams.update(stream.name, config) : jsm.streams.add(config));
  }
  for (const service of Object.keys(consumedEvents) as ConsumingService[]) {
    const config = {
      durable_name: service,
      filter_subjects: consumedEvents[service].map((filter) => `rollcall.events.${filter}`),
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: 30 * secondNs,
      max_ack_pending: 1000,
      max_deliver: -1,
    };
    const exists = await jsm.consumers.info('EVENTS', service).then(
      () => true,
      () => false,
    );
    await (exists ? jsm.consumers.update('EVENTS', service, config) : jsm.consumers.add('EVENTS', config));
  }
}
