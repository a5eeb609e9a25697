import type { NatsConnection } from '@nats-io/transport-node';
import type { BusCredentials } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '../log.ts';

/**
 * Connects again when the user of a service was replaced: the former one is good for a while yet, and nobody has to be cut off
 * for it. The connection itself reads which user it is.
 * @returns to be called after each change of the identity
 */
export function followUser(
  nc: Pick<NatsConnection, 'reconnect' | 'isClosed' | 'isDraining'>,
  current: () => BusCredentials,
  logger: Pick<Logger, 'info' | 'warn'>,
): () => void {
  let { jwt } = current();
  return () => {
    const now = current().jwt;
    if (now === jwt || nc.isClosed() || nc.isDraining()) return;
    jwt = now;
    logger.info({}, 'connecting with the new user of this service');
    nc.reconnect().catch((thrown: unknown) =>
      logger.warn({ err: toRollcallError(thrown) }, 'no connection with the new user yet'),
    );
  };
}
