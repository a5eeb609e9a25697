import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { digestOf } from './event-digest.ts';
import { RollcallError } from '@rollcall/shared/errors';
import { cutText } from '@rollcall/shared/text';
import { findDefinition } from './catalogue.ts';
import { type Cause, eventTypeName, type EventDefinition } from './define-event.ts';
import { aggregateSubjects, parseEventSubject, type AggregateId } from './event-subjects.ts';

/** Where the history of an aggregate stands: its last event. */
export interface Head {
  readonly epoch: number;
  readonly sequence: number;
  readonly digest: string;
}

/** What a decision gives: an event that is not yet written, and the head it was decided on. */
export interface EventDraft {
  readonly definition: EventDefinition;
  readonly aggregate: AggregateId;
  /** Undefined: the aggregate must not exist yet. */
  readonly head: Head | undefined;
  readonly by?: Cause;
  readonly reason: string;
  readonly message: string;
  readonly section: unknown;
  /** What set it off, where that is not the same for all events of one append. */
  readonly trace?: Pick<Stamp, 'correlation' | 'traceparent'>;
}

/** An event as it stands in the stream. */
export interface StoredEvent extends AggregateId {
  readonly type: string;
  readonly definition: EventDefinition;
  readonly eventId: string;
  readonly sequence: number;
  readonly timeMs: number;
  readonly source: string;
  readonly traceparent: string | undefined;
  readonly digest: string;
  readonly epoch: number;
  readonly previous: { readonly sequence: number; readonly digest: string } | undefined;
  readonly correlation: string;
  readonly by: Cause | undefined;
  readonly reason: string;
  readonly message: string;
  readonly section: unknown;
}

/** Builds a draft whose section is checked by the compiler against its definition. */
export function draft<Section extends z.ZodType>(
  definition: EventDefinition<Section>,
  on: { aggregate: AggregateId; head: Head | undefined },
  what: { by?: Cause; reason: string; message: string; section: z.output<Section> },
): EventDraft {
  return { definition, ...on, ...what };
}

/** What a writer adds to a draft when it appends it; from the context, never made inside a decision. */
export interface Stamp {
  readonly epoch: number;
  readonly source: string;
  readonly nowMs: number;
  readonly correlation: string;
  readonly traceparent?: string | undefined;
}

export interface EncodedEvent {
  readonly subject: string;
  readonly filter: string;
  readonly expectedSequence: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A sortable unique id: 48 bits of time, 80 random bits, in hex. */
export function createEventId(nowMs: number): string {
  return nowMs.toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
}

/**
 * CloudEvents 1.0 in NATS binary mode; messages longer than the schema allows are cut. The draft's own trace goes before the stamp's.
 * @throws RollcallError EVENT_INVALID when a section does not fit its own schema: a bug, caught before it is history
 */
export function encodeEvent(event: EventDraft, stamp: Stamp): EncodedEvent {
  const { definition, aggregate, head } = event;
  const { correlation, traceparent } = event.trace ?? stamp;
  const { subject, filter } = aggregateSubjects(aggregate, definition.type);
  const body = definition.body.safeParse({
    epoch: stamp.epoch,
    ...(head ? { previous: { sequence: head.sequence, digest: head.digest } } : {}),
    correlation,
    ...(event.by ? { by: event.by } : {}),
    reason: event.reason,
    message: cutText(event.message, 1024),
    section: event.section,
  });
  if (!body.success) throw new RollcallError('EVENT_INVALID', `${subject}: ${body.error.message}`);
  return {
    subject,
    filter,
    expectedSequence: head?.sequence ?? 0,
    headers: {
      'ce-specversion': '1.0',
      'ce-id': createEventId(stamp.nowMs),
      'ce-source': stamp.source,
      'ce-type': eventTypeName(definition),
      'ce-time': new Date(stamp.nowMs).toISOString(),
      'ce-subject': aggregate.id,
      'content-type': 'application/json',
      ...(traceparent ? { traceparent } : {}),
    },
    body: Buffer.from(JSON.stringify(body.data)),
  };
}

/** Whether subject and type name the same event, so that only its kind, type or version can be what is not known here. */
function isOfNewerVersion(subject: string, typeName: string): boolean {
  const [, kind, type] = /^rollcall\.events\.([a-z-]+)\.[^.]+\.([a-z-]+)$/.exec(subject) ?? [];
  return kind !== undefined && typeName.startsWith(`dev.rollcall.${kind}.${type}.v`);
}

/**
 * Reads an event from the stream.
 * @throws RollcallError EVENT_VERSION_UNKNOWN for a kind, type or version of a newer Rollcall (hold it), EVENT_INVALID for garbage
 */
export function decodeEvent(message: {
  subject: string;
  sequence: number;
  header: (name: string) => string;
  data: Uint8Array;
}): StoredEvent {
  const { subject, sequence, header, data } = message;
  const place = parseEventSubject(subject);
  const typeName = header('ce-type');
  const definition = findDefinition(typeName);
  if (!definition && isOfNewerVersion(subject, typeName)) {
    const why = `event ${sequence} has the type "${typeName}", which this version does not know`;
    throw new RollcallError('EVENT_VERSION_UNKNOWN', why);
  }
  if (!place || !definition)
    throw new RollcallError('EVENT_INVALID', `message ${sequence} on "${subject}" is no event`);
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(data));
  } catch (cause) {
    throw new RollcallError('EVENT_INVALID', `event ${sequence} on "${subject}" is no JSON`, { cause });
  }
  const body = definition.body.safeParse(json);
  const timeMs = Date.parse(header('ce-time'));
  if (
    !body.success ||
    definition.type !== place.type ||
    definition.kind !== place.kind ||
    Number.isNaN(timeMs)
  ) {
    const why = body.success ? 'kind, type or time do not fit' : body.error.message;
    throw new RollcallError('EVENT_INVALID', `event ${sequence} on "${subject}": ${why}`);
  }
  const eventId = header('ce-id');
  return {
    ...place,
    definition,
    eventId,
    sequence,
    timeMs,
    source: header('ce-source'),
    traceparent: header('traceparent') || undefined,
    digest: digestOf(subject, eventId, data),
    epoch: body.data.epoch,
    previous: body.data.previous,
    correlation: body.data.correlation,
    by: body.data.by,
    reason: body.data.reason,
    message: body.data.message,
    section: body.data.section,
  };
}
