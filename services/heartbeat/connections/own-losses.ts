import type { NatsConnection } from '@nats-io/transport-node';

type Which = 'main' | 'second';

/** Tells a loss of the second connection alone from one of both, as when their server restarts. */
export function createLossWatch() {
  const isUp: Record<Which, boolean> = { main: true, second: true };
  let isShared = false;
  return {
    lost(which: Which): void {
      isUp[which] = false;
      if (!isUp.main && !isUp.second) isShared = true;
    },
    /** @returns whether it was a loss of its own, and none that the main connection had as well */
    cameBack(which: Which): boolean {
      isUp[which] = true;
      if (which === 'main') return false;
      const isOwn = !isShared;
      isShared = false;
      return isOwn;
    },
  };
}

/**
 * Follows the second connection of a service, whose first one is counted by all services: a restart of the server is one loss.
 * @param found - each time that the second one has come back, and was lost alone
 */
export function followOwnLosses(
  connections: Readonly<Record<Which, Pick<NatsConnection, 'status'>>>,
  found: () => void,
): void {
  const watch = createLossWatch();
  async function follow(which: Which): Promise<void> {
    for await (const { type } of connections[which].status()) {
      if (type === 'disconnect') watch.lost(which);
      if (type === 'reconnect' && watch.cameBack(which)) found();
    }
  }
  void follow('main');
  void follow('second');
}
