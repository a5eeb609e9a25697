import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { asBusError } from '../bus-error.ts';

/** By connection; each has one listener, for as long as it lives. */
const waiting = new WeakMap<NatsConnection, Set<() => void>>();

function waitingFor(nc: NatsConnection): Set<() => void> {
  const known = waiting.get(nc);
  if (known) return known;
  const callbacks = new Set<() => void>();
  async function listen(): Promise<void> {
    for await (const { type } of nc.status())
      if (type === 'reconnect') for (const callback of callbacks) callback();
  }
  void listen();
  waiting.set(nc, callbacks);
  return callbacks;
}

/** Calls back each time that the connection has come back: what was asked before may have been lost with the old one. */
export function onReconnect(nc: NatsConnection, callback: () => void): Disposable {
  const callbacks = waitingFor(nc);
  callbacks.add(callback);
  return { [Symbol.dispose]: () => void callbacks.delete(callback) };
}

/**
 * A request that only reads: repeated on a new connection, and the first reply counts.
 * @param options.timeoutMs - of all repetitions together
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function readRequest(
  nc: NatsConnection,
  subject: string,
  { question, timeoutMs }: { question: string; timeoutMs: number },
): Promise<Msg> {
  const { promise, resolve, reject } = Promise.withResolvers<Msg>();
  const untilMs = performance.now() + timeoutMs;
  function ask(): void {
    const timeout = Math.max(1, untilMs - performance.now());
    nc.request(subject, question, { timeout }).then(resolve, reject);
  }
  using _ = onReconnect(nc, ask);
  ask();
  try {
    return await promise;
  } catch (cause) {
    throw asBusError(cause);
  }
}
