import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';

/** "wrong last sequence", and the same while another append is in flight (measured at three replicas). */
const conflictCodes = new Set([10_071, 10_164]);
/** Too many batches at once, or no room on the disk to put them together: nothing was stored. */
const batchLimitCodes = new Set([10_210, 10_176]);
/** Servers of a cluster that have not found each other yet. */
const noPeersCode = 10_005;
/** From here on the server says that it cannot now (no leader, no space), not that we asked for something wrong. */
const firstServerTrouble = 500;

const isForbidden = (thrown: unknown) => thrown instanceof errors.PermissionViolationError;

/**
 * Our words for what the bus says. An append whose answer was lost may have been stored: whoever gets BUS_UNREACHABLE reads
 * the aggregate again before it decides again.
 * @returns APPEND_CONFLICT, BUS_UNREACHABLE, or what was thrown where it is neither
 */
export function asBusError(cause: unknown): unknown {
  if (cause instanceof JetStreamApiError) {
    if (conflictCodes.has(cause.code))
      return new RollcallError('APPEND_CONFLICT', 'another writer was faster', { cause });
    if (batchLimitCodes.has(cause.code))
      return new RollcallError('APPEND_CONFLICT', `the bus took no batch: ${cause.message}`, { cause });
    if (cause.status < firstServerTrouble && cause.code !== noPeersCode) return cause;
    return new RollcallError('BUS_UNREACHABLE', `the bus cannot do it now: ${cause.message}`, { cause });
  }
  if (!(cause instanceof Error) || isForbidden(cause) || isForbidden(cause.cause)) return cause;
  const isBusAway =
    cause instanceof errors.TimeoutError ||
    cause instanceof errors.NoRespondersError ||
    cause instanceof errors.RequestError ||
    cause instanceof errors.ConnectionError ||
    cause instanceof errors.ClosedConnectionError ||
    cause instanceof errors.DrainingConnectionError ||
    cause instanceof JetStreamError ||
    // Nobody answers for JetStream: it is still starting, or has no leader. The library does not export the class.
    cause.name === 'JetStreamNotEnabled';
  return isBusAway
    ? new RollcallError('BUS_UNREACHABLE', `the bus did not answer: ${cause.message}`, { cause })
    : cause;
}

/** Whether an append of several events failed because the stream has too many batches open: whoever writes events can open them all. */
export function isBatchRefused(error: unknown): boolean {
  const cause = error instanceof RollcallError ? error.cause : undefined;
  return cause instanceof JetStreamApiError && batchLimitCodes.has(cause.code);
}

/** "maximum bytes exceeded", "insufficient storage", "insufficient resources". */
const noRoomCodes = new Set([10_077, 10_047, 10_023]);

/** Whether an append failed because the stream, or the server, has no room for one event more. */
export function isNoRoom(error: unknown): boolean {
  const cause = error instanceof RollcallError ? error.cause : undefined;
  return cause instanceof JetStreamApiError && noRoomCodes.has(cause.code);
}
