import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { parseEventSubject, type StoredEvent } from '@rollcall/shared/events';
import type { RunRecord } from './report.ts';

/** What the hub says of the clusters of a run while it runs; what was written is read at the end. */
export interface RunWatch {
  /** How many clusters are in which state, as heard. */
  counts(): { ready: number; suspect: number; unreachable: number; stopped: number };
  /** Clusters that have joined. */
  joined(): number;
  /** Events of anybody, heard so far. */
  events(): number;
  stop(): void;
}

/** By type of event. */
export const stateAfter: Readonly<Record<string, 'ready' | 'suspect' | 'unreachable' | 'stopped' | 'gone'>> =
  {
    joined: 'ready',
    ready: 'ready',
    suspect: 'suspect',
    unreachable: 'unreachable',
    stopped: 'stopped',
    left: 'gone',
  };

const outageTypes: Readonly<Record<string, 'begins' | 'ends'>> = { outage: 'begins', 'outage-ended': 'ends' };

function messageOf(body: string): string {
  try {
    return String((JSON.parse(body) as { message?: unknown }).message);
  } catch {
    return '';
  }
}

/** @param onOutage - told when an outage begins or ends, with the words of the hub */
export function watchRun(
  nc: NatsConnection,
  { prefix, onOutage }: { prefix: string; onOutage(message: string): void },
): RunWatch {
  const counts = { ready: 0, suspect: 0, unreachable: 0, stopped: 0, gone: 0 };
  const states = new Map<string, keyof typeof counts>();
  let [joined, events] = [0, 0];
  const subscription = nc.subscribe('rollcall.stored.>', {
    callback: (error, message) => {
      const place = error ? undefined : parseEventSubject(message.subject);
      if (!place) return;
      events++;
      if (place.kind === 'hub' && outageTypes[place.type]) onOutage(messageOf(message.string()));
      const state = stateAfter[place.type];
      if (place.kind !== 'cluster' || !state || !place.id.startsWith(prefix)) return;
      const before = states.get(place.id);
      if (before) counts[before]--;
      else joined++;
      counts[state]++;
      states.set(place.id, state);
    },
  });
  return {
    counts: () => counts,
    joined: () => joined,
    events: () => events,
    stop: () => subscription.unsubscribe(),
  };
}

/** What the history says of a run: all of it, with the times that events say themselves. */
export async function readRun(
  log: Pick<EventLog, 'scan'>,
  { prefix, fromSequence }: { prefix: string; fromSequence: number },
): Promise<Pick<RunRecord, 'events' | 'outages' | 'leavings'>> {
  const events: RunRecord['events'][number][] = [];
  const outages: RunRecord['outages'][number][] = [];
  const leavings = { begun: 0, ended: 0 };
  for await (const event of log.scan({ fromSequence, onSkip: () => undefined })) {
    const change = event.kind === 'hub' ? outageTypes[event.type] : undefined;
    if (change) outages.push({ change, atMs: event.timeMs, message: event.message });
    if (event.id.startsWith(prefix) && event.type === 'leaving') leavings.begun++;
    if (event.id.startsWith(prefix) && event.type === 'left') leavings.ended++;
    if (isOfRun(event, prefix)) events.push({ clusterId: event.id, type: event.type, atMs: event.timeMs });
  }
  return { events, outages, leavings };
}

/** Liveness only: how clusters are made up is nobody's news. */
function isOfRun({ kind, id, definition }: StoredEvent, prefix: string): boolean {
  return kind === 'cluster' && definition.writer === 'heartbeat' && id.startsWith(prefix);
}
