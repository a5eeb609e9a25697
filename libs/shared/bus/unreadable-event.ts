import {
  type AggregateId,
  eventCatalogue,
  type EventWriter,
  eventWriters,
  type StoredEvent,
} from '@rollcall/shared/events';

type Unreadable = AggregateId & {
  readonly type: string;
  readonly sequence: number;
  /** As the event itself says, `/rollcall/<service>`. */
  readonly source?: string;
};

/**
 * Who writes a type that is not in the catalogue, only the event says. It can be believed: the server lets nobody publish a type
 * that its writer was not given, and that is the hub's newer version.
 */
export function writerOf({ kind, type, source }: Unreadable): EventWriter | undefined {
  const definition = eventCatalogue.find((known) => known.kind === kind && known.type === type);
  return definition?.writer ?? eventWriters.find((writer) => source === `/rollcall/${writer}`);
}

/**
 * Nobody else needs what these say to decide: liveness, cuts and hosting are shown, and read by whoever wrote them. A leaving waits
 * for the provisioner, and goes on waiting while what is said last cannot be read.
 */
const concernNobodyElse: ReadonlySet<EventWriter> = new Set([
  'heartbeat',
  'account-controller',
  'agent-host',
  'rbac-provisioner',
]);

/** Who cuts keys does it by what the approver says of them. */
const concernsOnlyOthers: Readonly<Record<string, EventWriter>> = {
  '/rollcall/account-controller': 'registrar',
};

/**
 * Whether an unreadable event is nothing to the reader. Else a service that was taken over could hold all decisions about a cluster, or
 * what follows from them, by writing one event of a version that does not exist.
 * @param source - the reader's own, `/rollcall/<service>`
 */
export function isNoConcernOf(source: string, unreadable: Unreadable): boolean {
  const writer = writerOf(unreadable);
  if (writer === undefined) return false;
  if (concernsOnlyOthers[source] === writer) return true;
  return concernNobodyElse.has(writer) && source !== `/rollcall/${writer}`;
}

/**
 * Whether something that cannot be decoded is not its writer's last word any more: each event carries the writer's whole
 * section, so the later one says all that counts.
 */
export function isOvertaken(unreadable: Unreadable, readable: readonly StoredEvent[]): boolean {
  const writer = writerOf(unreadable);
  return (
    writer !== undefined &&
    readable.some(
      (event) =>
        event.kind === unreadable.kind &&
        event.id === unreadable.id &&
        event.definition.writer === writer &&
        event.sequence > unreadable.sequence,
    )
  );
}
