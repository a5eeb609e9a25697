/** Events that are counted at once: more than a consumer may have open, as another replica may have ended some. */
const mostCounted = 4096;

/** How often each event failed in this process, and why: a wait for the API server is no failure of the handler. */
export interface FailureCounts {
  /** Notes one more. @returns how often that event failed with that code, this time included */
  count(sequence: number, code: string): number;
  /** It was handled, or given up. */
  forget(sequence: number): void;
}

/** In memory: a restart begins anew, and so does each replica. The events that were counted first are forgotten first. */
export function countFailures(): FailureCounts {
  const counts = new Map<number, Map<string, number>>();
  return {
    count(sequence, code) {
      const ofEvent = counts.get(sequence) ?? new Map<string, number>();
      const failures = (ofEvent.get(code) ?? 0) + 1;
      ofEvent.set(code, failures);
      counts.set(sequence, ofEvent);
      if (counts.size > mostCounted) counts.delete(counts.keys().next().value ?? sequence);
      return failures;
    },
    forget: (sequence) => void counts.delete(sequence),
  };
}
