import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { type EventLog, followEvents, streamSize } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { StoredEvent } from '@rollcall/shared/events';
import { documentText, type DocumentFormat } from '../terminal/document-text.ts';
import { printResult, say } from '../terminal/output.ts';
import { printable, printableJson } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { hasColour as terminalHasColour } from '../terminal/terminal.ts';
import type { BusFlags } from './bus-access.ts';
import { cloudEvent, liveCloudEvent } from './cloud-event.ts';
import { type ClusterNames, clusterIdOfTarget, createClusterNames } from './cluster-names.ts';
import { type EventFilter, eventFilter } from './event-filter.ts';
import { openBus, sayLeftOut } from './open-bus.ts';
import { eventLine, liveLine, type LiveMessage } from './event-line.ts';
import { sayArchived } from './say-archived.ts';
import { sayLost } from './say-lost.ts';
import { sequenceInLog } from './sequence-since.ts';

export interface EventsFlags extends BusFlags {
  readonly cluster?: string;
  readonly type?: readonly string[];
  readonly since?: string;
  readonly follow?: boolean;
  /** Of the past, without a time since when. */
  readonly tail?: string;
  readonly output: 'text' | 'wide' | 'name' | DocumentFormat;
}

const goOnAfterMs = 1000;
/** Credentials may have been replaced meanwhile: whoever starts the command anew reads the newest. */
const goOnForMs = 300_000;

interface Printer {
  event(event: StoredEvent): Promise<void>;
  live(message: LiveMessage): Promise<void>;
}

/** One that may be followed by more: a line of JSON, or a document of YAML. */
function asDocument(event: object, format: DocumentFormat): string {
  return format === 'json' ? printableJson(event) : `---\n${documentText(event, 'yaml')}`;
}

/** What the events are about, each once. */
function createNamePrinter(names: ClusterNames): Printer {
  const printed = new Set<string>();
  const print = (name: string) => {
    if (!printed.has(name)) printResult(printable(name));
    printed.add(name);
  };
  return {
    event: async (event) => print(`${event.kind}/${(await names.of(event)) ?? event.id}`),
    live: async ({ clusterId }) => print(`cluster/${(await names.ofId(clusterId)) ?? clusterId}`),
  };
}

function createPrinter(output: EventsFlags['output'], names: ClusterNames): Printer {
  if (output === 'json' || output === 'yaml') {
    const print = async (event: object) => printResult(asDocument(event, output));
    return { event: (event) => print(cloudEvent(event)), live: (message) => print(liveCloudEvent(message)) };
  }
  if (output === 'name') return createNamePrinter(names);
  const hasColour = terminalHasColour();
  const isWide = output === 'wide';
  return {
    event: async (event) =>
      printResult(eventLine(event, { hasColour, isWide, clusterName: await names.of(event) })),
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
  const tail = tailOf(flags);
  const { nc, log } = await withProgress('connecting', openBus(flags));
  try {
    await sayLost(nc);
    const clusterId = flags.cluster === undefined ? undefined : await clusterIdOfTarget(log, flags.cluster);
    const printer = createPrinter(flags.output, createClusterNames(log));
    const filter = filterOf(clusterId);
    // What is only heard has no type.
    const hearsLive = flags.type === undefined;
    const fromSequence = await withProgress('looking for the first event', sequenceOf(filter, nc, log));
    const how = { filter, printer, fromSequence };
    if (flags.follow) {
      const first = tail === undefined ? fromSequence : (await showTail(nc, log, { ...how, tail })).next;
      await follow(nc, log, { ...how, fromSequence: first, clusterId, hearsLive });
    } else if (tail === undefined) {
      if ((await withProgress('reading the history', showPast(log, how))) === 0) say('No events found.');
      await sayArchived(nc, fromSequence);
    } else {
      const showing = withProgress('reading the history', showTail(nc, log, { ...how, tail }));
      if ((await showing).count === 0) say('No events found.');
    }
  } finally {
    await nc.close();
  }
}

interface HowToShow {
  readonly filter: EventFilter;
  readonly printer: Printer;
  readonly fromSequence: number;
}

async function sequenceOf({ sinceMs }: EventFilter, nc: NatsConnection, log: EventLog): Promise<number> {
  const size = sinceMs === undefined ? undefined : await streamSize(nc, 'EVENTS');
  if (sinceMs === undefined || !size) return 1;
  return sequenceInLog(log, { sinceMs, lastSequence: size.lastSequence });
}

const usualTail = 20;

/** @returns undefined where all is wanted. @throws RollcallError USAGE */
function tailOf({ tail, follow: follows, since }: EventsFlags): number | undefined {
  if (tail === undefined) return follows && since === undefined ? usualTail : undefined;
  if (since !== undefined) throw new RollcallError('USAGE', 'give either --tail or --since');
  if (tail === 'all') return undefined;
  if (/^\d{1,6}$/.test(tail)) return Number(tail);
  throw new RollcallError('USAGE', `--tail "${tail}" is neither a number nor the word all`);
}

/**
 * Shows the last events of the past that fit, looking back further and further.
 * @returns how many there were, and from where on events are new
 */
async function showTail(
  nc: NatsConnection,
  log: EventLog,
  { filter, printer, tail }: HowToShow & { readonly tail: number },
): Promise<{ count: number; next: number }> {
  const { lastSequence } = (await streamSize(nc, 'EVENTS')) ?? { lastSequence: 0 };
  let last: StoredEvent[] = [];
  for (let back = tail * 4; back > 0; back *= 8) {
    const fromSequence = Math.max(1, lastSequence - back + 1);
    last = [];
    for await (const event of log.scan({ filter: filter.subject, fromSequence, onSkip: () => undefined })) {
      if (event.sequence > lastSequence) break;
      if (filter.matches(event)) last.push(event);
      if (last.length > tail) last.shift();
    }
    if (last.length === tail || fromSequence === 1) break;
  }
  for (const event of last) await printer.event(event);
  return { count: last.length, next: lastSequence + 1 };
}

/** @returns how many there were */
async function showPast(log: EventLog, { filter, printer, fromSequence }: HowToShow): Promise<number> {
  let count = 0;
  for await (const event of log.scan({ filter: filter.subject, fromSequence, onSkip: sayLeftOut })) {
    if (!filter.matches(event)) continue;
    count++;
    await printer.event(event);
  }
  return count;
}

async function follow(
  nc: NatsConnection,
  log: EventLog,
  how: HowToShow & { clusterId: string | undefined; hearsLive: boolean },
): Promise<void> {
  const { filter, printer, fromSequence, clusterId, hearsLive } = how;
  const ending = new AbortController();
  void untilStopSignal().then(() => ending.abort());
  const live = hearsLive && showLive(nc.subscribe(`rollcall.live.${clusterId ?? '*'}`), printer);
  const { signal } = ending;
  const options = {
    filter: filter.subject,
    fromSequence,
    signal,
    onSkip: sayLeftOut,
    // A server that is started anew is back in seconds, and whoever follows does so for days.
    async onAway(thrown: unknown, awayMs: number) {
      if (!isAway(thrown) || awayMs > goOnForMs) throw thrown;
      say(`${thrown.message}; going on as soon as it answers`);
      await delay(goOnAfterMs, undefined, { signal }).catch(() => undefined);
    },
    onRestored: (lastSequence: number) =>
      say(`the hub was restored: what is new follows, from event ${lastSequence + 1} on`),
  };
  for await (const event of followEvents(nc, log, options)) {
    if (filter.matches(event)) await printer.event(event);
  }
  if (!signal.aborted) throw new RollcallError('BUS_UNREACHABLE', 'the connection to the bus has ended');
  await nc.close();
  await live;
}

function isAway(error: unknown): error is RollcallError {
  return error instanceof RollcallError && error.code === 'BUS_UNREACHABLE';
}

async function showLive(subscription: Subscription, printer: Printer): Promise<void> {
  for await (const message of subscription) {
    const live = parseLive(message.subject, message.data);
    if (live) await printer.live(live);
  }
}
