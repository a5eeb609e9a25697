import { digestOf } from './event-digest.ts';
import { parseEventSubject } from './event-subjects.ts';

/** A message of stream EVENTS as it is stored, whoever wrote it. */
export interface ChainMessage {
  readonly sequence: number;
  readonly subject: string;
  readonly eventId: string;
  readonly data: Uint8Array;
}

export interface ChainProblem {
  readonly sequence: number;
  readonly subject: string;
  /** `missing`: sequences before this one are not there; `broken`: it does not follow what is there. */
  readonly kind: 'missing' | 'broken';
  readonly message: string;
}

interface Link {
  readonly sequence: number;
  readonly digest: string;
}

function previousOf(data: Uint8Array): Link | undefined | 'unreadable' {
  try {
    const body = JSON.parse(new TextDecoder().decode(data)) as { previous?: Link } | null;
    return typeof body === 'object' && body !== null ? body.previous : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

/** How many events may be missing, because archives have them, and up to which. */
export interface ArchivedPart {
  readonly total: number;
  readonly throughSequence: number;
}

/**
 * Checks a history from its first event on: that no sequence is missing, and that each event names the one before it in its
 * aggregate by sequence and digest. Garbage is no event, but the next event of its aggregate follows it all the same.
 * @param archivedPart - of a history that archives have a part of; one that is missing there is named, and cannot be compared
 * @returns to be called with each message in order; its `digest` is what later events and statuses name
 */
export function createChainCheck(archivedPart: ArchivedPart = { total: 0, throughSequence: 0 }): (
  message: ChainMessage,
) => {
  readonly digest: string;
  readonly problems: readonly ChainProblem[];
  /** How many of the missing ones were taken for archived so far. */
  readonly archived: number;
} {
  const heads = new Map<string, Link>();
  let expected = 1;
  let archived = 0;
  /** Where gaps begin and end, in order. */
  const gaps: { from: number; to: number }[] = [];
  const isGone = (wanted: number) => {
    let [low, high] = [0, gaps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((gaps[middle]?.to ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    const gap = gaps[low];
    return gap !== undefined && gap.from <= wanted && wanted <= archivedPart.throughSequence;
  };
  return ({ sequence, subject, eventId, data }) => {
    const problems: ChainProblem[] = [];
    const tell = (kind: ChainProblem['kind'], message: string) =>
      problems.push({ sequence, subject, kind, message });
    if (sequence !== expected) {
      gaps.push({ from: expected, to: sequence - 1 });
      const within = Math.max(0, Math.min(sequence - 1, archivedPart.throughSequence) - expected + 1);
      const meant = Math.min(within, archivedPart.total - archived);
      archived += meant;
      const known = meant > 0 ? `, and no archive has ${sequence - expected - meant} of them` : '';
      if (meant < sequence - expected)
        tell('missing', `events ${expected} to ${sequence - 1} are not in the stream${known}`);
    }
    expected = sequence + 1;
    const digest = digestOf(subject, eventId, data);
    const place = parseEventSubject(subject);
    if (!place) return { digest, problems, archived };
    const aggregate = `${place.kind}.${place.id}`;
    const head = heads.get(aggregate);
    const previous = previousOf(data);
    heads.set(aggregate, { sequence, digest });
    if (previous === 'unreadable') return { digest, problems, archived };
    const isArchived =
      previous !== undefined && previous.sequence > (head?.sequence ?? 0) && isGone(previous.sequence);
    if (isArchived) return { digest, problems, archived };
    if (previous?.sequence !== head?.sequence) {
      const [named, there] = [previous, head].map((link) => (link ? `event ${link.sequence}` : 'none'));
      tell('broken', `it says that it follows ${named}, and the one before it is ${there}`);
    } else if (previous?.digest !== head?.digest) {
      tell(
        'broken',
        `event ${head?.sequence} before it was changed after it was written: its digest differs`,
      );
    }
    return { digest, problems, archived };
  };
}
