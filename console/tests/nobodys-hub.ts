import type { ConsoleHub } from '@rollcall/console';
import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient } from '@rollcall/shared/kubernetes';

export const away = () => Promise.reject(new RollcallError('BUS_UNREACHABLE', 'nobody listens'));

/** A hub where nobody listens: what is refused there is refused without one. */
export function nobodysHub(): ConsoleHub {
  const names = { clusterName: 'none', contextName: 'made-up', userName: 'nobody', namespace: 'default' };
  return {
    client: createKubeClient(
      { server: 'https://127.0.0.1:1', caPem: undefined, ...names },
      { fieldManager: 'test', userAgent: 'test' },
    ),
    person: away,
    openBus: away,
    describe: away,
    readPast: away,
    readEvent: away,
    readEvents: away,
    act: away,
    policies: { list: away, check: away, tryOut: away, write: away },
    tokens: { hubId: away, list: away, make: away, revoke: away },
    health: { status: away, doctor: away, operations: away, confirm: away, dead: away, mend: away },
  };
}
