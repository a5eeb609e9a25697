import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { epochsAfter, type EventLog, followEvents, streamSize } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { StoredEvent } from '@rollcall/shared/events';
import {
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
  type StoredObject,
  watchResource,
} from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { clusterRow } from '@rollcall/shared/fleet/read-cluster';
import { eventRow, heardRow, type HeardState } from '../rows/event-row.ts';
import { requestRow } from '../rows/request-row.ts';
import type { LiveSnapshot } from './live-snapshot.ts';

/** The bus, as a person may read it. */
export interface ReadableBus {
  readonly nc: NatsConnection;
  readonly log: EventLog;
  /** Of the cluster or token that the event is about. */
  nameOf(event: StoredEvent): Promise<string | undefined>;
  readHeard(subject: string, data: Uint8Array): HeardState | undefined;
  /** The NATS server that the agent of each of these clusters is at, as the heartbeat service says when it is asked. */
  serversOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface WatchedHub {
  readonly client: KubeClient;
  /** Connects as the user of the bus that this person may be. */
  openBus(): Promise<ReadableBus>;
}

const askAgainMs = 1000;
/** Who may not read the bus is soon told when that changes, and costs the API server little until then. */
const askAgainWhereRefusedMs = 20_000;
/** Of the history, to begin with. */
const firstEvents = 500;
const countEveryMs = 10_000;
/** For that many one question is heard and answered in about a second. */
const askedAtOnce = 5000;
const askServersEveryMs = 5000;
const untilListedMs = 200;
/** Clusters and requests. */
const watchedKinds = 2;

/** An object that is remembered as its row only. */
type AsRow<Row> = KubeObject & { readonly row: Row };

/** Keeps the snapshot as the hub is, until the signal: one watch of each kind and one reader of the history, for all pages. */
export async function watchHub(hub: WatchedHub, snapshot: LiveSnapshot, signal: AbortSignal): Promise<void> {
  const counting = setInterval(() => snapshot.count(Date.now()), countEveryMs);
  try {
    await Promise.all([watchKubernetes(hub.client, snapshot, signal), watchHistory(hub, snapshot, signal)]);
  } finally {
    clearInterval(counting);
  }
}

async function watchKubernetes(
  client: KubeClient,
  snapshot: LiveSnapshot,
  signal: AbortSignal,
): Promise<void> {
  /** Kinds of which everything was told once; before that, nothing is not the same as none. */
  const synced = new Set<string>();
  /** Kinds that the person may not read, as far as is known. */
  const refused = new Set<string>();
  /** Kinds whose watch broke, until the server answers about them. */
  const broken = new Set<string>();
  function isHeard(): void {
    if (synced.size === watchedKinds && refused.size === 0 && broken.size === 0)
      snapshot.putHub({ kubernetes: { isHeard: true } });
  }
  /** A watch that goes on where it was says nothing while nothing changes, so the server is asked for one object of that kind. */
  async function untilAnswers(resource: Resource): Promise<void> {
    for (;;) {
      await delay(askAgainMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const page = await client.listPage(resource, { limit: 1, signal }).catch(() => undefined);
      if (page) break;
    }
    broken.delete(resource.plural);
    isHeard();
  }
  const onError = (resource: Resource, thrown: unknown): void => {
    const why = toRollcallError(thrown).message;
    snapshot.putHub({ kubernetes: { isHeard: false, why } });
    // Who may not read is told so until the watch of that kind is answered.
    if (isForbidden(thrown)) refused.add(resource.plural);
    else if (!broken.has(resource.plural)) {
      broken.add(resource.plural);
      void untilAnswers(resource);
    }
  };

  function watch<Object extends KubeObject, Row>(
    resource: Resource,
    how: { toRow(object: StoredObject<Object>): Row; put(row: Row): void; drop(name: string): void },
  ): Promise<void> {
    return watchResource<AsRow<Row>>(client, resource, {
      signal,
      keep: ({ apiVersion, kind, metadata, ...rest }) => ({
        apiVersion,
        kind,
        metadata: { name: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
        row: how.toRow({ apiVersion, kind, metadata, ...rest } as StoredObject<Object>),
      }),
      onEvent: ({ kind, object }) => {
        if (kind === 'deleted') how.drop(object.metadata.name);
        else how.put(object.row);
      },
      onSynced: () => {
        synced.add(resource.plural);
        refused.delete(resource.plural);
        isHeard();
      },
      onHeard: () => {
        if (refused.delete(resource.plural)) isHeard();
      },
      onError: (thrown) => onError(resource, thrown),
    });
  }

  await Promise.all([
    watch<ManagedCluster & { metadata: object }, ReturnType<typeof clusterRow>>(resources.managedClusters, {
      toRow: clusterRow,
      put: snapshot.putCluster,
      drop: snapshot.dropCluster,
    }),
    watch<ClusterRegistrationRequest & { metadata: object }, ReturnType<typeof requestRow>>(
      resources.clusterRegistrationRequests,
      { toRow: requestRow, put: snapshot.putRequest, drop: snapshot.dropRequest },
    ),
  ]);
}

/**
 * Near the end of the history to begin with, then where it was; a history that was put back to an older state has less than that.
 * @param next - undefined: nothing was read yet
 */
export const readFrom = (next: number | undefined, lastSequence: number): number =>
  Math.min(next ?? Math.max(1, lastSequence - firstEvents + 1), lastSequence + 1);

/** Reads the history from near its end on, and goes on after every break. */
async function watchHistory(hub: WatchedHub, snapshot: LiveSnapshot, signal: AbortSignal): Promise<void> {
  let next: number | undefined;
  /** Of what was read. */
  let epoch = 0;
  const isAway = (thrown: unknown) => {
    snapshot.putHub({ history: { isHeard: false, why: toRollcallError(thrown).message } });
    const waitMs = isForbidden(thrown) ? askAgainWhereRefusedMs : askAgainMs;
    return delay(waitMs, undefined, { signal }).catch(() => undefined);
  };
  while (!signal.aborted) {
    try {
      const bus = await hub.openBus();
      const close = () => void bus.nc.close();
      signal.addEventListener('abort', close, { once: true });
      try {
        const { lastSequence } = (await streamSize(bus.nc, 'EVENTS')) ?? { lastSequence: 0 };
        signal.throwIfAborted();
        // What a restore took back is read anew, also where the history has grown past that meanwhile.
        const { from } = await epochsAfter(bus.log, epoch || Infinity);
        signal.throwIfAborted();
        next = Math.min(readFrom(next, lastSequence), from);
        snapshot.putHub({ history: { isHeard: true } });
        // It ends with the connection; what breaks that is told by the reading below.
        void hearStates(bus, snapshot).catch(() => undefined);
        void askServers(bus, snapshot, signal);
        const options = {
          fromSequence: next,
          signal,
          onSkip: () => undefined,
          onAway: async (thrown: unknown) => void (await isAway(thrown)),
          onRestored: (last: number) => (next = last + 1),
        };
        for await (const event of followEvents(bus.nc, bus.log, options)) {
          next = event.sequence + 1;
          epoch = Math.max(epoch, event.epoch);
          if (!snapshot.hub().history.isHeard) snapshot.putHub({ history: { isHeard: true } });
          snapshot.addEvent(eventRow(event, snapshot.clusterNameOf(event.id) ?? (await bus.nameOf(event))));
        }
      } finally {
        signal.removeEventListener('abort', close);
        await bus.nc.close();
      }
    } catch (thrown) {
      if (!signal.aborted) await isAway(thrown);
    }
  }
}

/** What the heartbeat service says on the way to a decision; nobody stores it. */
async function hearStates(bus: ReadableBus, snapshot: LiveSnapshot): Promise<void> {
  for await (const message of bus.nc.subscribe('rollcall.live.*')) {
    const heard = bus.readHeard(message.subject, message.data);
    if (heard) snapshot.addEvent(heardRow(heard, snapshot.clusterNameOf(heard.clusterId)));
  }
}

/** Asks where agents are connected, which nobody stores or tells: of a large fleet a part each time, so that it costs no more than a small one. */
async function askServers(bus: ReadableBus, snapshot: LiveSnapshot, signal: AbortSignal): Promise<void> {
  const isOver = () => signal.aborted || bus.nc.isClosed();
  // The first round is made without a pause, once there is a fleet to ask about.
  while (!isOver() && !snapshot.hub().kubernetes.isHeard)
    await delay(untilListedMs, undefined, { signal, ref: false }).catch(() => undefined);
  let isFirstRound = true;
  for (let from = 0; !isOver();) {
    const ids = snapshot.clusterIds();
    const part = ids.slice(from, from + askedAtOnce);
    // That nobody answers now is no news: what was said last is what is known.
    const servers = part.length > 0 ? await bus.serversOf(part).catch(() => undefined) : undefined;
    for (const [id, server] of servers ?? []) snapshot.putServer(id, server);
    from = from + askedAtOnce < ids.length ? from + askedAtOnce : 0;
    isFirstRound &&= from > 0 && servers !== undefined;
    if (!isFirstRound)
      await delay(askServersEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
