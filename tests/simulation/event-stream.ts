import {
  decodeEvent,
  type AggregateId,
  type EncodedEvent,
  parseEventSubject,
  type StoredEvent,
} from '@rollcall/shared/events';

/** `cluster.*.held` against the tokens after `rollcall.events.`; `>` stands for all that is left. */
function fits(filter: readonly string[], { kind, id, type }: StoredEvent): boolean {
  const tokens = [kind, id, type];
  for (const [at, want] of filter.entries()) {
    if (want === '>') return at < tokens.length;
    if (want !== '*' && want !== tokens[at]) return false;
  }
  return filter.length === tokens.length;
}

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

/** Whatever is handed to several processes must not be changed by one of them. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

/**
 * Stream EVENTS as far as decisions depend on it: one sequence for everything, appends that expect the last sequence under a
 * filter (a wrong one conflicts, whichever subject it is about), batches that are stored as a whole or not at all.
 */
export class EventStream {
  readonly stored: StoredEvent[] = [];
  readonly #newestOf = new Map<string, Map<string, StoredEvent>>();
  readonly #onAppended: (batch: readonly StoredEvent[]) => void;

  constructor(onAppended: (batch: readonly StoredEvent[]) => void) {
    this.#onAppended = onAppended;
  }

  /** @returns false: somebody was faster, and nothing was stored */
  append(events: readonly EncodedEvent[]): boolean {
    for (const { filter, expectedSequence } of events) {
      if (this.#lastUnder(filter) !== expectedSequence) return false;
    }
    const batch = events.map(({ subject, headers, body: data }) => {
      const sequence = this.stored.length + 1;
      const event = decodeEvent({ subject, sequence, header: (name) => headers[name] ?? '', data });
      frozen(event.section);
      this.stored.push(event);
      let newest = this.#newestOf.get(nameOf(event));
      if (!newest) this.#newestOf.set(nameOf(event), (newest = new Map()));
      newest.set(event.type, event);
      return event;
    });
    this.#onAppended(batch);
    return true;
  }

  /** The newest of each type. */
  ofAggregate(aggregate: AggregateId): StoredEvent[] {
    return [...(this.#newestOf.get(nameOf(aggregate))?.values() ?? [])];
  }

  /** The newest of each subject that the filter names. */
  newestUnder(filter: string): StoredEvent[] {
    const wanted = filter.split('.');
    const found: StoredEvent[] = [];
    for (const newest of this.#newestOf.values())
      for (const event of newest.values()) if (fits(wanted, event)) found.push(event);
    return found.toSorted((a, b) => a.sequence - b.sequence);
  }

  from(sequence: number, filter: string): StoredEvent[] {
    const wanted = filter.split('.');
    return this.stored.slice(sequence - 1).filter((event) => fits(wanted, event));
  }

  /** Aggregates of a kind, in the order of their first event. */
  idsOf(kind: AggregateId['kind']): string[] {
    return [...this.#newestOf.keys()]
      .filter((name) => name.startsWith(`${kind}.`))
      .map((name) => name.slice(kind.length + 1));
  }

  #lastUnder(filter: string): number {
    const place = parseEventSubject(filter.replace(/>$/, 'any'));
    let last = 0;
    if (!place) return last;
    for (const { sequence } of this.#newestOf.get(nameOf(place))?.values() ?? [])
      last = Math.max(last, sequence);
    return last;
  }
}

/** Which events one of the filters names. */
export function isUnderAny(filters: readonly string[]): (event: StoredEvent) => boolean {
  const wanted = filters.map((filter) => filter.split('.'));
  return (event) => wanted.some((filter) => fits(filter, event));
}
