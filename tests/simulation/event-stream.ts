import {
  decodeEvent,
  type AggregateId,
  type EncodedEvent,
  parseEventSubject,
  type StoredEvent,
} from '@rollcall/shared/events';

/** A message as the stream keeps it, and read once. */
export interface Stored {
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly event: StoredEvent;
}

/** `cluster.*.held` against the tokens after `rollcall.events.`; `>` stands for all that is left. */
function fits(filter: string, subject: string): boolean {
  const wanted = filter.split('.');
  const tokens = subject.split('.');
  for (const [at, want] of wanted.entries()) {
    if (want === '>') return tokens.length > at;
    if (tokens[at] === undefined || (want !== '*' && want !== tokens[at])) return false;
  }
  return wanted.length === tokens.length;
}

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

/**
 * Stream EVENTS as far as decisions depend on it: one sequence for everything, appends that expect the last sequence under a
 * filter (a wrong one conflicts, whichever subject it is about), batches that are stored as a whole or not at all.
 */
export class EventStream {
  readonly stored: Stored[] = [];
  readonly #newestOf = new Map<string, Map<string, Stored>>();
  readonly #onAppended: (batch: readonly Stored[]) => void;

  constructor(onAppended: (batch: readonly Stored[]) => void) {
    this.#onAppended = onAppended;
  }

  /** @returns false: somebody was faster, and nothing was stored */
  append(events: readonly EncodedEvent[]): boolean {
    for (const { filter, expectedSequence } of events) {
      if (this.#lastUnder(filter) !== expectedSequence) return false;
    }
    const batch = events.map(({ subject, headers, body }) => {
      const sequence = this.stored.length + 1;
      const event = decodeEvent({ subject, sequence, header: (name) => headers[name] ?? '', data: body });
      const stored = { sequence, subject, headers, body, event };
      this.stored.push(stored);
      let newest = this.#newestOf.get(nameOf(event));
      if (!newest) this.#newestOf.set(nameOf(event), (newest = new Map()));
      newest.set(event.type, stored);
      return stored;
    });
    this.#onAppended(batch);
    return true;
  }

  /** The newest of each type. */
  ofAggregate(aggregate: AggregateId): StoredEvent[] {
    return [...(this.#newestOf.get(nameOf(aggregate))?.values() ?? [])].map(({ event }) => event);
  }

  /** The newest of each subject that the filter names. */
  newestUnder(filter: string): StoredEvent[] {
    const found: StoredEvent[] = [];
    for (const newest of this.#newestOf.values()) {
      for (const { event, subject } of newest.values())
        if (fits(`rollcall.events.${filter}`, subject)) found.push(event);
    }
    return found.toSorted((a, b) => a.sequence - b.sequence);
  }

  from(sequence: number, filter: string): StoredEvent[] {
    return this.stored
      .slice(sequence - 1)
      .filter(({ subject }) => fits(`rollcall.events.${filter}`, subject))
      .map(({ event }) => event);
  }

  /** Aggregates of a kind, in the order of their first event. */
  idsOf(kind: AggregateId['kind']): string[] {
    return [...this.#newestOf.keys()]
      .filter((name) => name.startsWith(`${kind}.`))
      .map((name) => name.slice(kind.length + 1));
  }

  #lastUnder(filter: string): number {
    const place = parseEventSubject(filter.replace(/>$/, 'any'));
    const newest = place && this.#newestOf.get(nameOf(place));
    return newest ? Math.max(...[...newest.values()].map(({ sequence }) => sequence)) : 0;
  }
}

export function isUnderAny(filters: readonly string[], subject: string): boolean {
  return filters.some((filter) => fits(`rollcall.events.${filter}`, subject));
}
