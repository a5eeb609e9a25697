import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { hubDomain } from '@rollcall/shared/rights';

/** The streams lie in an account that nobody but `setup` is a user of; who reaches them from another names them by a domain. */
export const hubStreams = { domain: hubDomain } as const;

/** Asks about streams and consumers of the hub. */
export function streamManager(
  nc: NatsConnection,
  options: { timeout?: number } = {},
): Promise<JetStreamManager> {
  return jetstreamManager(nc, { ...hubStreams, ...options, checkAPI: false });
}
