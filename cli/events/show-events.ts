import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { type EventLog, followEvents } from '@rollcall/shared/bus';
import type { StoredEvent } from '@rollcall/shared/events';
import { printResult, say } from '../output.ts';
import { withProgress } from '../progress.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { hasColour as terminalHasColour } from '../terminal.ts';
import type { BusFlags } from './bus-access.ts';
import { cloudEventJson, liveEventJson } from './cloud-event.ts';
import { type ClusterNames, clusterIdOfTarget, createClusterNames } from './cluster-names.ts';
import { type EventFilter, eventFilter } from './event-filter.ts';
import { openBus, sayLeftOut } from './open-bus.ts';
import { eventLine, liveLine, type LiveMessage } from './event-line.ts';

export interface EventsFlags extends BusFlags {
  readonly cluster?: string;
  readonly type?: readonly string[];
  readonly since?: string;
  readonly follow?: boolean;
  readonly output?: 'text' | 'json';
}

interface Printer {
  event(event: StoredEvent): Promise<void>;
  live(message: LiveMessage): Promise<void>;
}

function createPrinter(output: EventsFlags['output'], names: ClusterNames): Printer {
  const hasColour = terminalHasColour();
  if (output === 'json') {
    return {
      event: async (event) => printResult(cloudEventJson(event)),
      live: async (message) => printResult(liveEventJson(message)),
    };
  }
  return {
    event: async (event) => printResult(eventLine(event, { hasColour, clusterName: await names.of(event) })),
    live: async (message) =>
      printResult(liveLine(message, { hasColour, clusterName: await names.ofId(message.clusterId) })),
  };
}

/** Reads what the heartbeat service says; anything else on its subject is left out. */
export function parseLive(subject: string, data: Uint8Array): LiveMessage | undefined {
  const clusterId = subject.split('.')[2] ?? '';
  try {
    const said = JSON.parse(new TextDecoder().decode(data)) as Partial<Record<keyof LiveMessage, unknown>>;
    const { state, reason, atMs } = said;
    if (typeof state !== 'string' || typeof reason !== 'string' || typeof atMs !== 'number') return undefined;
    return { clusterId, state, reason, atMs };
  } catch {
    return undefined;
  }
}

/**
 * Shows the history that the flags choose, and with `--follow` what happens from then on.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function showEvents(flags: EventsFlags): Promise<void> {
  const nowMs = Date.now();
  const filterOf = (clusterId?: string) =>
    eventFilter({ clusterId, types: flags.type, since: flags.since, nowMs });
  // Before anything is connected: mistakes in flags are said at once.
  filterOf();
  const { nc, log } = await withProgress('connecting', openBus(flags));
  try {
    const clusterId = flags.cluster === undefined ? undefined : await clusterIdOfTarget(log, flags.cluster);
    const printer = createPrinter(flags.output, createClusterNames(log));
    const filter = filterOf(clusterId);
    if (flags.follow) await follow(nc, log, { filter, printer, clusterId });
    else if ((await withProgress('reading the history', showPast(log, filter, printer))) === 0) {
      say('No events found.');
    }
  } finally {
    await nc.close();
  }
}

/** @returns how many there were */
async function showPast(log: EventLog, filter: EventFilter, printer: Printer): Promise<number> {
  let count = 0;
  for await (const event of log.scan({ filter: filter.subject, onSkip: sayLeftOut })) {
    if (!filter.matches(event)) continue;
    count++;
    await printer.event(event);
  }
  return count;
}

async function follow(
  nc: NatsConnection,
  log: EventLog,
  { filter, printer, clusterId }: { filter: EventFilter; printer: Printer; clusterId: string | undefined },
): Promise<void> {
  const ending = new AbortController();
  void untilStopSignal().then(() => ending.abort());
  const live = showLive(nc.subscribe(`rollcall.live.${clusterId ?? '*'}`), printer);
  const options = { filter: filter.subject, fromSequence: 1, signal: ending.signal };
  for await (const event of followEvents(nc, log, options)) {
    if (filter.matches(event)) await printer.event(event);
  }
  await nc.close();
  await live;
}

async function showLive(subscription: Subscription, printer: Printer): Promise<void> {
  for await (const message of subscription) {
    const live = parseLive(message.subject, message.data);
    if (live) await printer.live(live);
  }
}
