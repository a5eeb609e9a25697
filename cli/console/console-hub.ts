import type { Action, ClusterPage, ConsoleHub } from '@rollcall/console';
import { RollcallError } from '@rollcall/shared/errors';
import { readPastFleet } from '@rollcall/shared/fleet/past-fleet';
import type { BusFlags } from '../events/bus-access.ts';
import { cloudEvent } from '../events/cloud-event.ts';
import { createClusterNames } from '../events/cluster-names.ts';
import { openBus } from '../events/open-bus.ts';
import { archivedWords } from '../events/say-archived.ts';
import { isHistoryLost } from '../events/say-lost.ts';
import { parseLive } from '../events/show-events.ts';
import { describeSources } from '../describe/cluster-description.ts';
import { gatherSources, sourcesAt } from '../describe/describe-cluster.ts';
import { nextSteps } from '../describe/next-steps.ts';
import { cordonCluster } from '../decide/cordon-cluster.ts';
import { operationForCluster } from '../decide/cluster-operation.ts';
import { decideRequest } from '../decide/decide-request.ts';
import { moveCluster } from '../decide/move-cluster.ts';
import { rotateKey } from '../decide/rotate-key.ts';
import { userName } from '../decide/user-name.ts';
import { askHeard, serversIn } from '../get/heard-clusters.ts';
import type { Outcome } from '../get/print-objects.ts';
import { openHub } from '../hub-access.ts';
import { consoleHealth, type ConsoleHubFlags } from './console-health.ts';
import { consolePolicies } from './console-policies.ts';
import { readEventsFrom } from './read-events-from.ts';
import { consoleTokens } from './console-tokens.ts';
import { withBus, withBusUntil } from './with-bus-until.ts';
import { unregister } from '../unregister/unregister.ts';

/** As the commands have it. */
const timeout = '30s';
const leavesWithin = '2m';
const rotatesWithin = '60s';

/** Does what the command of the same name does. */
async function act(
  flags: BusFlags,
  { verb, target, isId, reason, replaceKey, key, set, dryRun }: Action,
): Promise<Outcome> {
  const common = {
    ...flags,
    timeout,
    output: 'text',
    dryRun: dryRun ?? false,
    ...(reason === undefined || reason === '' ? {} : { reason }),
  } as const;
  switch (verb) {
    case 'approve':
    case 'deny': {
      const keys = {
        ...(replaceKey === undefined ? {} : { replaceKey }),
        ...(key === undefined ? {} : { seenKey: key }),
      };
      return decideRequest(verb, target, { ...common, ...keys, id: isId ?? false });
    }
    case 'cordon':
    case 'uncordon':
      return cordonCluster(verb, target, common);
    case 'move':
      if (set === undefined) throw new RollcallError('USAGE', 'to which set?');
      return moveCluster(target, { ...common, to: set });
    case 'rotate':
      return rotateKey(target, { ...common, timeout: rotatesWithin });
    case 'revoke':
    case 'ban':
    case 'unban':
      return operationForCluster(verb, target, common);
    case 'unregister':
      return unregister(target, { ...common, timeout: leavesWithin });
  }
}

/** The hub for the console, by the code of the commands and with the kubeconfig of the person. Whoever serves it closes its client. */
export function consoleHub(flags: ConsoleHubFlags): ConsoleHub {
  const client = openHub(flags);
  return {
    client,
    person: () => userName(client),
    async openBus() {
      const { nc, log } = await openBus(flags);
      const names = createClusterNames(log);
      const serversOf = async (ids: readonly string[]) => serversIn(await askHeard(nc, ids));
      return { nc, log, nameOf: names.of, readHeard: parseLive, serversOf };
    },
    async describe(target, { isId, atMs }): Promise<ClusterPage> {
      const sources = await gatherSources('cluster', target, { ...flags, id: isId });
      if (atMs !== undefined) return { description: describeSources(sourcesAt(sources, atMs)), next: [] };
      const description = describeSources(sources);
      return { description, next: nextSteps(description) };
    },
    readPast: ({ atMs, signal, onEvent }) =>
      withBusUntil(flags, signal, async ({ nc, log }) => {
        let left = 0;
        const past = await readPastFleet(log, { atMs, onEvent, onSkip: () => left++ });
        const notes = [
          (await isHistoryLost(nc)) && 'the history of this hub is lost or cut; this is what is left of it',
          await archivedWords(nc, 1),
          left > 0 && `${left} events cannot be read by this version, and are left out`,
        ];
        return { ...past, notes: notes.filter((note) => typeof note === 'string') };
      }),
    readEvent: (sequence) =>
      withBus(flags, async ({ log }) => {
        for await (const event of log.scan({ fromSequence: sequence, onSkip: () => undefined }))
          return event.sequence === sequence ? cloudEvent(event) : undefined;
        return undefined;
      }),
    readEvents: (from) => readEventsFrom(flags, from),
    policies: consolePolicies(client, flags),
    tokens: consoleTokens(client),
    health: consoleHealth(client, flags),
    act: async (action) => (await act(flags, action)).words,
  };
}
