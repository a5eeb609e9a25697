import { mkdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { epochsAfter, type EventLog, streamSize } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { type StoredEvent, tokenRecord } from '@rollcall/shared/events';
import { readText } from '../agent/joining-flags.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { clusterIdOfTarget, createClusterNames } from '../events/cluster-names.ts';
import { type EventFilter, eventFilter } from '../events/event-filter.ts';
import { openBus, sayLeftOut } from '../events/open-bus.ts';
import { sequenceInLog } from '../events/sequence-since.ts';
import { printResult, say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { sinceMs } from '../terminal/point-in-time.ts';
import { withProgress } from '../terminal/progress.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { lockState } from '../up/state/state-lock.ts';
import { messageOf, parseSecret, parseTemplate } from './signed-webhook.ts';
import { goOnFrom, openPosition, type Position } from './position.ts';
import { isLastUse, onlyLastUses, typesOf } from './ready-filters.ts';
import { openSink, parseSink, type Sink } from './sink.ts';

export interface ForwardFlags extends BusFlags {
  readonly to: string;
  readonly only?: readonly string[];
  readonly type?: readonly string[];
  readonly cluster?: string;
  readonly since?: string;
  readonly template?: string;
  readonly secretFile?: string;
  readonly position?: string;
}

const lookAgainMs = 10_000;
const tryAgainMs = 1000;

interface Forwarder {
  readonly sink: Sink;
  readonly position: Position;
  readonly template: string | undefined;
  readonly secret: Uint8Array | undefined;
  readonly counts: { taken: number; refused: number };
  readonly signal: AbortSignal;
  filterOf(clusterId?: string): EventFilter;
  /** From when on, of one that has never run; undefined: from now on. */
  readonly sinceMs: number | undefined;
  readonly cluster: string | undefined;
  /** Of uses of tokens only the last one of each. */
  readonly onlyLastUses: boolean;
}

/**
 * `rollcall events forward`: sends what happens to a sink over HTTP, in the order of the history, each event until it is taken. Where
 * it is in the history is kept in a file, so that nothing is left out by a restart; what was sent and not noted is sent again.
 * @throws RollcallError USAGE, CONFIG_INVALID, STATE_INVALID, STATE_IN_USE, NOT_FOUND; HUB_MISSING, BUS_REFUSED …
 */
export async function forwardEvents(flags: ForwardFlags): Promise<void> {
  const address = flags.to.startsWith('file:') ? readText('--to', flags.to.slice('file:'.length)) : flags.to;
  const url = parseSink(address);
  const types = [...(flags.type ?? []), ...typesOf(flags.only ?? [])];
  const lastUses = onlyLastUses(flags);
  const nowMs = Date.now();
  const filterOf = (clusterId?: string) =>
    eventFilter({ clusterId, types: types.length === 0 ? undefined : types, nowMs });
  // Before anything is connected: mistakes in flags are said at once.
  const fromMs = flags.since === undefined ? undefined : sinceMs(flags.since, nowMs);
  filterOf();
  const template =
    flags.template === undefined ? undefined : parseTemplate(readText('--template', flags.template));
  const secret =
    flags.secretFile === undefined ? undefined : parseSecret(readText('--secret-file', flags.secretFile));
  if (url.protocol === 'http:')
    say(`warning: ${url.host} is reached without TLS: everybody on the way reads it`);
  const position = openPosition(
    flags.position,
    JSON.stringify([url.href, types, flags.cluster, ...(lastUses ? ['last use'] : [])]),
  );
  mkdirSync(dirname(position.place), { recursive: true, mode: 0o700 });
  const unlock = lockState(dirname(position.place), `${basename(position.place)}.lock`);
  const ending = new AbortController();
  void untilStopSignal().then(() => ending.abort());
  const counts = { taken: 0, refused: 0 };
  const { signal } = ending;
  const { cluster } = flags;
  try {
    say(`forwarding to ${url.host}; where it is in the history stands in "${position.place}"`);
    const how = { template, secret, filterOf, sinceMs: fromMs, cluster, onlyLastUses: lastUses };
    await goOn(flags, { sink: openSink(url), position, counts, signal, ...how });
  } finally {
    unlock();
  }
  printResult(`${counts.taken} events forwarded, ${counts.refused} refused`);
}

/** Through every loss of the bus: credentials may have been replaced meanwhile, so it is opened anew. */
async function goOn(flags: BusFlags, forwarder: Forwarder): Promise<void> {
  const { signal } = forwarder;
  let hasRun = false;
  while (!signal.aborted) {
    try {
      const { nc, log } = await withProgress('connecting', openBus(flags));
      const close = () => void nc.close();
      signal.addEventListener('abort', close, { once: true });
      try {
        hasRun = true;
        await forwardAll(nc, log, forwarder);
      } finally {
        signal.removeEventListener('abort', close);
        await nc.close();
      }
    } catch (thrown) {
      const error = toRollcallError(thrown);
      if (signal.aborted) return;
      if (!error.retry || !hasRun) throw thrown;
      say(printable(`${error.message}; going on as soon as it answers`));
      await delay(tryAgainMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function isMeant(log: EventLog, event: StoredEvent, forwarder: Forwarder): Promise<boolean> {
  const { kind, id, type } = event;
  if (!forwarder.onlyLastUses || kind !== 'token' || type !== 'used') return true;
  return isLastUse(event, tokenRecord(await log.read({ kind, id })).declaration?.uses);
}

/** Until the signal, or until the connection has ended. */
async function forwardAll(nc: NatsConnection, log: EventLog, forwarder: Forwarder): Promise<void> {
  const { position, signal, cluster } = forwarder;
  const clusterId = cluster === undefined ? undefined : await clusterIdOfTarget(log, cluster);
  const filter = forwarder.filterOf(clusterId);
  let woken = Promise.withResolvers<void>();
  // What was stored rings; it is read from the stream, in its order and with nothing left out.
  nc.subscribe('rollcall.stored.>', { callback: () => woken.resolve() });
  void nc.closed().then(() => woken.resolve());
  const names = createClusterNames(log);
  let { next, epoch } = position.at ?? (await firstPoint(nc, log, forwarder.sinceMs));
  const reach = (sequence: number) => {
    next = sequence;
    position.at = { next, epoch };
  };
  reach(next);
  while (!signal.aborted && !nc.isClosed()) {
    const lastSequence = (await streamSize(nc, 'EVENTS'))?.lastSequence ?? 0;
    const on = goOnFrom({ next, epoch }, { ...(await epochsAfter(log, epoch)), lastSequence });
    if (on.next < next) say(`the hub was restored: what is new is forwarded, from event ${on.next} on`);
    epoch = on.epoch;
    reach(on.next);
    for await (const event of log.scan({ filter: filter.subject, fromSequence: next, onSkip: sayLeftOut })) {
      if (event.sequence > lastSequence) break;
      if (filter.matches(event) && (await isMeant(log, event, forwarder))) {
        const clusterName = await names.of(event);
        const { template, secret } = forwarder;
        const how = { clusterName, template, secret };
        const outcome = await forwarder.sink.deliver((nowMs) => messageOf(event, { ...how, nowMs }), signal);
        if (outcome === 'stopped') return;
        forwarder.counts[outcome]++;
      }
      reach(event.sequence + 1);
    }
    if (next <= lastSequence) reach(lastSequence + 1);
    const timer = setTimeout(() => woken.resolve(), lookAgainMs);
    await woken.promise;
    clearTimeout(timer);
    woken = Promise.withResolvers<void>();
  }
}

/** Of one that has never run: what happens from now on, or since the time that was given. */
async function firstPoint(nc: NatsConnection, log: EventLog, fromMs: number | undefined) {
  const { epoch } = await epochsAfter(log, 0);
  const lastSequence = (await streamSize(nc, 'EVENTS'))?.lastSequence ?? 0;
  const now = { next: lastSequence + 1, epoch };
  if (fromMs === undefined) return now;
  const fromSequence = await sequenceInLog(log, { sinceMs: fromMs, lastSequence });
  // The very first: later on, after an outage, what is older than that is to be sent all the same.
  for await (const { sequence, timeMs } of log.scan({ fromSequence, onSkip: () => undefined }))
    if (timeMs >= fromMs) return { next: sequence, epoch };
  return now;
}
