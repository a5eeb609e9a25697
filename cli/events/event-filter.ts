import { RollcallError } from '@rollcall/shared/errors';
import { eventCatalogue, type StoredEvent } from '@rollcall/shared/events';
import { sinceMs } from '../terminal/point-in-time.ts';

export interface EventFilter {
  /** What the stream is asked for, after `rollcall.events.`. */
  readonly subject: string;
  /** Nothing older is shown; undefined: everything is. */
  readonly sinceMs: number | undefined;
  /** What of that is shown. */
  matches(event: Pick<StoredEvent, 'kind' | 'type' | 'timeMs'>): boolean;
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
