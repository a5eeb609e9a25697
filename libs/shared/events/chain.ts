import { digestOf } from './envelope.ts';
import { parseEventSubject } from './subjects.ts';

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

/**
 * Checks a history from its first event on: that no sequence is missing, and that each event names the one before it in its
 * aggregate by sequence and digest. Garbage is no event, but the next event of its aggregate follows it all the same.
 * @returns to be called with each message in order; its `digest` is what later events and statuses name
 */
export function createChainCheck(firstSequence = 1): (message: ChainMessage) => {
  readonly digest: string;
  readonly problems: readonly ChainProblem[];
} {
  const heads = new Map<string, Link>();
  let expected = firstSequence;
  return ({ sequence, subject, eventId, data }) => {
    const problems: ChainProblem[] = [];
    const tell = (kind: ChainProblem['kind'], message: string) =>
      problems.push({ sequence, subject, kind, message });
    if (sequence !== expected) tell('missing', `events ${expected} to ${sequence - 1} are not in the stream`);
    expected = sequence + 1;
    const digest = digestOf(subject, eventId, data);
    const place = parseEventSubject(subject);
    if (!place) return { digest, problems };
    const aggregate = `${place.kind}.${place.id}`;
    const head = heads.get(aggregate);
    const previous = previousOf(data);
    heads.set(aggregate, { sequence, digest });
    if (previous === 'unreadable') return { digest, problems };
    if (previous?.sequence !== head?.sequence) {
      const [named, there] = [previous, head].map((link) => (link ? `event ${link.sequence}` : 'none'));
      tell('broken', `it says that it follows ${named}, and the one before it is ${there}`);
    } else if (previous?.digest !== head?.digest) {
      tell(
        'broken',
        `event ${head?.sequence} before it was changed after it was written: its digest differs`,
      );
    }
    return { digest, problems };
  };
}
