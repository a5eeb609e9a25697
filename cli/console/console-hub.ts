import type { ClusterPage, ConsoleHub } from '@rollcall/console';
import { readPastFleet } from '@rollcall/shared/fleet/past-fleet';
import { cloudEvent } from '../events/cloud-event.ts';
import { createClusterNames } from '../events/cluster-names.ts';
import { openBus } from '../events/open-bus.ts';
import { archivedWords } from '../events/say-archived.ts';
import { isHistoryLost } from '../events/say-lost.ts';
import { parseLive } from '../events/show-events.ts';
import { describeSources } from '../describe/cluster-description.ts';
import { gatherSources, sourcesAt } from '../describe/describe-cluster.ts';
import { nextSteps } from '../describe/next-steps.ts';
import { userName } from '../decide/user-name.ts';
import { askHeard, serversIn } from '../get/heard-clusters.ts';
import { openHub } from '../hub-access.ts';
import { consoleHealth, type ConsoleHubFlags } from './console-health.ts';
import { consolePolicies } from './console-policies.ts';
import { readEventsFrom } from './read-events-from.ts';
import { runAction } from './run-action.ts';
import { consoleTokens } from './console-tokens.ts';
import { withBus, withBusUntil } from './with-bus-until.ts';

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
    act: async (action) => (await runAction(flags, action)).words,
  };
}
