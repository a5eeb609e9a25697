/** What is to be known of an event to say whether it may leave the stream. */
export interface OldEvent {
  readonly sequence: number;
  readonly subject: string;
  /** When the server stored it. */
  readonly storedAtMs: number;
}

export interface Needs {
  /** Only what was stored before this may go. */
  readonly olderThanMs: number;
  /** Every service is done with the events up to this one. */
  readonly handledThrough: number;
  /** Events that are named elsewhere: dead letters, and what is held for a newer version. */
  readonly named: ReadonlySet<number>;
}

/** What may go, and the last event that was old enough to be looked at. */
export interface Choice {
  readonly sequences: readonly number[];
  readonly throughSequence: number;
}

/**
 * Chooses the events that nothing follows from any more: whatever the history said at the point in time, and has said since, it
 * says without them. So of the events before it the newest of each subject stays, which is what folds read; everything after it
 * stays. Pure.
 * @param events - of the whole stream, oldest first; nothing after the first that is too young is looked at
 */
export function whatMayGo(events: Iterable<OldEvent>, needs: Needs): Choice {
  const { olderThanMs, handledThrough, named } = needs;
  const newestOf = new Map<string, number>();
  const sequences: number[] = [];
  let throughSequence = 0;
  for (const { sequence, subject, storedAtMs } of events) {
    if (storedAtMs >= olderThanMs || sequence > handledThrough) break;
    throughSequence = sequence;
    const before = newestOf.get(subject);
    newestOf.set(subject, sequence);
    if (before !== undefined && !named.has(before)) sequences.push(before);
  }
  return { sequences: sequences.toSorted((a, b) => a - b), throughSequence };
}
