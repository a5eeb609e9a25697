import { admitted, type Identity } from '@rollcall/shared/events';
import { RollcallError } from '@rollcall/shared/errors';
import type { Heard } from '@rollcall/shared/protocol';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { openBus, sayLeftOut } from '../events/open-bus.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import type { GetFlags } from './get.ts';
import { resourceOfName } from './kind-names.ts';
import { askHeard, sayMissingParts } from './heard-clusters.ts';
import { type EntryView, printEntries } from './print-entries.ts';
import { labelSelectorOf, looksAtObjects } from './select-clusters.ts';

interface HeardEntry {
  readonly name: string;
  readonly clusterId: string;
  readonly state: string;
  /** RFC 3339, hub time. */
  readonly lastHeartbeat?: string;
  readonly secondsAgo?: number;
  /** To which its agent connected last. */
  readonly server?: string;
}

const view: EntryView<HeardEntry> = {
  columns: [
    { name: 'Name' },
    { name: 'State' },
    { name: 'Last-Heartbeat' },
    { name: 'Server' },
    { name: 'Cluster ID', priority: 1 },
  ],
  cells: ({ name, state, secondsAgo, server, clusterId }) => [
    name,
    state,
    secondsAgo === undefined ? undefined : `${secondsAgo.toFixed(1)}s ago`,
    server,
    clusterId,
  ],
  nameOf: ({ name }) => name,
};

function entryOf(
  name: string,
  { id: clusterId, state, lastHeartbeatAtMs, server }: Heard,
  nowMs: number,
): HeardEntry {
  const entry = { name, clusterId, state, ...(server === undefined ? {} : { server }) };
  if (lastHeartbeatAtMs === undefined) return entry;
  const secondsAgo = Math.max(0, nowMs - lastHeartbeatAtMs) / 1000;
  return { ...entry, lastHeartbeat: new Date(lastHeartbeatAtMs).toISOString(), secondsAgo };
}

/**
 * `rollcall get clusters --live`: what the heartbeat service hears now, of every member, also of those that Kubernetes does
 * not show. Members come from the events; Kubernetes is not asked.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING, BUS_UNREACHABLE
 */
export async function getHeard(kind: string, names: readonly string[], flags: GetFlags): Promise<void> {
  if (resourceOfName(kind) !== resources.managedClusters)
    throw new RollcallError('USAGE', '--live is for clusters');
  if (flags.watch)
    throw new RollcallError('USAGE', '--live takes no --watch: `rollcall events --follow` does');
  if (flags.at !== undefined || labelSelectorOf(flags) !== '' || looksAtObjects(flags))
    throw new RollcallError('USAGE', '--live takes names, and nothing else to select by');
  const { nc, log } = await withProgress('connecting', openBus(flags));
  try {
    const events = await withProgress(
      'reading',
      log.readAll(`cluster.*.${admitted.type}`, { onSkip: sayLeftOut }),
    );
    const nameOf = new Map(events.map(({ id, section }) => [id, (section as Identity).clusterName]));
    const wanted = [...nameOf].filter(
      ([id, name]) => names.length === 0 || names.includes(name) || names.includes(id),
    );
    const { clusters, missingParts } = await withProgress(
      'asking',
      askHeard(
        nc,
        wanted.map(([id]) => id),
      ),
    );
    const nowMs = Date.now();
    const entries = wanted.flatMap(([id, name]) => {
      const heard = clusters.get(id);
      return heard ? [entryOf(name, heard, nowMs)] : [];
    });
    sayMissingParts({ missingParts });
    const missing = names.find(
      (name) => !entries.some((entry) => entry.name === name || entry.clusterId === name),
    );
    if (missing !== undefined)
      throw new RollcallError('NOT_FOUND', `no member has the id or the name "${missing}"`);
    printEntries(
      entries.toSorted((a, b) => a.name.localeCompare(b.name)),
      flags.output,
      view,
    );
    if (entries.length === 0) say('No members.');
  } finally {
    await nc.close();
  }
}
