import { parseDurationMs } from '@rollcall/shared/config';
import { RollcallError } from '@rollcall/shared/errors';
import { eventCatalogue, type StoredEvent } from '@rollcall/shared/events';

export interface EventFilter {
  /** What the stream is asked for, after `rollcall.events.`. */
  readonly subject: string;
  /** Nothing older is shown; undefined: everything is. */
  readonly sinceMs: number | undefined;
  /** What of that is shown. */
  matches(event: Pick<StoredEvent, 'kind' | 'type' | 'timeMs'>): boolean;
}

/**
 * Reads `--since`, or another flag: a duration back from now, or a point in time.
 * @throws RollcallError USAGE
 */
export function sinceMs(text: string, nowMs: number, flag = '--since'): number {
  const backMs = parseDurationMs(text);
  // What else `Date.parse` takes is a guess: "40" is a year to it, and "last week 3" a month.
  const isTime = /^\d{4}-\d{2}-\d{2}(T.+)?$/.test(text);
  const atMs = backMs === undefined ? (isTime ? Date.parse(text) : Number.NaN) : nowMs - backMs;
  if (!Number.isNaN(atMs)) return atMs;
  throw new RollcallError(
    'USAGE',
    `${flag} "${text}" is neither a duration (1h, 30m) nor a time (2026-11-21T04:00:00Z)`,
  );
}

/** `approved` is every kind's; `token.used` is one. A type that no event has would only ever show nothing. */
function parseType(text: string): { kind: string | undefined; type: string } {
  const [first = '', second, ...rest] = text.split('.');
  const [kind, type] = second === undefined ? [undefined, first] : [first, second];
  const isKnown = eventCatalogue.some(
    (one) => one.type === type && (kind === undefined || one.kind === kind),
  );
  if (isKnown && rest.length === 0) return { kind, type };
  const types = [...new Set(eventCatalogue.map((one) => `${one.kind}.${one.type}`))].join(', ');
  throw new RollcallError('USAGE', `--type "${text}" is no type of event; there are ${types}`);
}

/** @throws RollcallError USAGE */
export function eventFilter(options: {
  clusterId?: string | undefined;
  types?: readonly string[] | undefined;
  since?: string | undefined;
  nowMs: number;
}): EventFilter {
  const { clusterId, since, nowMs } = options;
  const types = (options.types ?? []).flatMap((text) => text.split(',')).map(parseType);
  const fromMs = since === undefined ? undefined : sinceMs(since, nowMs);
  const [only, ...more] = types;
  const kind = clusterId !== undefined ? 'cluster' : more.length === 0 ? (only?.kind ?? '*') : '*';
  const type = only && more.length === 0 ? only.type : '*';
  return {
    subject: `${kind}.${clusterId ?? '*'}.${type}`,
    sinceMs: fromMs,
    matches: (event) =>
      event.timeMs >= (fromMs ?? -Infinity) &&
      (types.length === 0 ||
        types.some((one) => one.type === event.type && (one.kind === undefined || one.kind === event.kind))),
  };
}
