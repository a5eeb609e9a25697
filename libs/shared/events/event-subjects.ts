import { RollcallError } from '@rollcall/shared/errors';
import { eventKinds, type EventKind } from './define-event.ts';
import { isSafeId } from './safe-id.ts';

/** One aggregate: a cluster, a token, a name …; its history is linear. */
export interface AggregateId {
  readonly kind: EventKind;
  readonly id: string;
}

/**
 * The subject of an event and the filter of its aggregate, always built together: the server does not check that the
 * filter of an expectation covers the subject (measured), so a wrong pair would guard nothing.
 * @throws RollcallError CLUSTER_ID_INVALID before an unsafe id gets into a subject
 */
export function aggregateSubjects(aggregate: AggregateId, type = '*'): { subject: string; filter: string } {
  if (!isSafeId(aggregate.id)) {
    throw new RollcallError(
      'CLUSTER_ID_INVALID',
      `"${aggregate.id.slice(0, 80)}" is no safe id for a ${aggregate.kind}`,
    );
  }
  const stem = `rollcall.events.${aggregate.kind}.${aggregate.id}`;
  return { subject: `${stem}.${type}`, filter: `${stem}.>` };
}

/**
 * Takes the subject of an event apart, in the stream or as it is heard once it is stored.
 * @returns undefined when it is none, which it is not with an id that nobody of ours writes
 */
export function parseEventSubject(subject: string): (AggregateId & { type: string }) | undefined {
  const [root, events, kind, id, type, ...rest] = subject.split('.');
  const known = eventKinds.find((name) => name === kind);
  const isOurs = root === 'rollcall' && (events === 'events' || events === 'stored');
  if (!isOurs || !known || !id || !type || rest.length > 0 || !isSafeId(id)) return undefined;
  return { kind: known, id, type };
}
