import type { HealthDesk } from '@rollcall/console';
import { readDeadLetters } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { examineHub } from '../doctor/doctor.ts';
import { type BusFlags, isElsewhere } from '../events/bus-access.ts';
import type { WorkloadsFlags } from '../install/hub/hub-places.ts';
import { confirmOperations } from '../operations/confirm-operations.ts';
import { shownOperations } from '../operations/shown-operations.ts';
import { eventOf } from '../dead/list-dead.ts';
import { mendDead } from '../dead/retry-or-drop.ts';
import { readStatus } from '../status/show-status.ts';
import { statusLines } from '../status/status-text.ts';
import { withBus } from './with-bus-until.ts';

/** A service takes dead letters up when it looks next, within a minute. */
const mendedWithin = '90s';
const confirmedWithin = '30s';

/** Of the hub, and where its keys and its pods are. */
export interface ConsoleHubFlags extends BusFlags, WorkloadsFlags {
  /** Dead letters are mended with them. */
  readonly keys?: string;
}

/** What waits in the hub and how it is: what `status`, `doctor`, `get operations`, `confirm` and `dead` say and do. */
export function consoleHealth(client: KubeClient, flags: ConsoleHubFlags): HealthDesk {
  return {
    async status() {
      const status = await readStatus(flags);
      // Of operations the page speaks by the list that it shows, which may be a newer one.
      const problems = status.problems.filter(({ check }) => check !== 'operations');
      return { lines: statusLines(status), services: status.services, problems };
    },
    doctor: () => examineHub({ ...flags, output: 'text' }),
    async operations() {
      const { held, confirmed } = await shownOperations(client);
      return { ...(held && { held }), confirmed: confirmed?.operations ?? [] };
    },
    async confirm(id) {
      return (await confirmOperations(id, { ...flags, wait: true, timeout: confirmedWithin })).words;
    },
    async dead() {
      const letters = await withBus(flags, ({ nc }) => readDeadLetters(nc));
      return letters.map(({ id, atMs, service, subject, code, message, deliveries, isHeld }) => {
        const event = eventOf({ subject });
        return { id, atMs, service, event, code, message, deliveries, isHeld };
      });
    },
    async mend({ verb, ids }) {
      // The keys of this directory are of its own hub, whose letters have numbers as well.
      if (flags.keys === undefined && isElsewhere(flags))
        throw new RollcallError(
          'USAGE',
          'dead letters are mended with the keys of the hub, which your rights are not: start the console with `--keys`, or run the line above where they are',
        );
      return (await mendDead(verb, ids, { ...flags, timeout: mendedWithin })).words;
    },
  };
}
