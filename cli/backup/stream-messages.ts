import { type AggregateId, archiveAggregate, parseEventSubject } from '@rollcall/shared/events';
import { bodyOf, type StreamLine } from './backup-format.ts';

/** The lines of a stream as they are written back. */
export async function* asMessages(
  lines: AsyncIterable<StreamLine>,
  meta: Readonly<Record<string, string>> = {},
) {
  for await (const line of lines) {
    const { sequence, subject, headers } = line;
    yield { sequence, subject, headers: { ...headers, ...meta }, data: bodyOf(line) };
  }
}

const isArchiving = ({ kind, id }: AggregateId) =>
  kind === archiveAggregate.kind && id === archiveAggregate.id;

/** What was missing in the history of a backup. */
export interface Gaps {
  readonly sequences: number[];
  /** Whether it was trimmed on purpose at some time. */
  isArchived: boolean;
}

/**
 * The history with its sequences. Where one was missing already, garbage takes its place: what comes after is named by
 * sequence, and nobody reads such a subject.
 */
export async function* withoutGaps(lines: AsyncIterable<StreamLine>, gaps: Gaps) {
  let next = 1;
  for await (const message of asMessages(lines)) {
    const place = parseEventSubject(message.subject);
    if (place && isArchiving(place)) gaps.isArchived = true;
    for (; next < message.sequence; next++) {
      gaps.sequences.push(next);
      yield {
        sequence: next,
        subject: 'rollcall.events.hub.restore.gap',
        headers: {},
        data: new Uint8Array(),
      };
    }
    next++;
    yield message;
  }
}
