import type {
  Decision,
  PolicyDeclaration,
  SetDeclaration,
  TokenDeclaration,
} from '../types/approver-events.ts';
import type { EventWriter } from '../define-event.ts';
import type { Head, StoredEvent } from '../envelope.ts';
import type { Liveness } from '../types/heartbeat-events.ts';
import type { Hosting } from '../types/host-events.ts';
import type { Access, Publication } from '../types/provisioner-events.ts';
import type { Identity, KeyHolder, NameHolder, TokenUses } from '../types/registrar-events.ts';
import type { AggregateId } from '../event-subjects.ts';
import type { Cut } from '../types/trust-events.ts';

/** The newest event of each owner: the whole of what the hub knows of an aggregate (principle 1). */
export interface AggregateRecord {
  readonly aggregate: AggregateId;
  /** Undefined: nothing has happened yet. */
  readonly head: Head | undefined;
  /** Trace and correlation of the newest event, for what is decided next. */
  readonly newest: StoredEvent | undefined;
  readonly lastOf: Readonly<Partial<Record<EventWriter, StoredEvent>>>;
}

/** (epoch, sequence) order: a restored hub starts a new epoch. */
export function isNewer(a: Pick<Head, 'epoch' | 'sequence'>, b: Pick<Head, 'epoch' | 'sequence'>): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.sequence > b.sequence);
}

/**
 * Folds events of one aggregate, in any order, with the newest of each owner kept.
 *
 * The head is the last message in the stream whatever epoch it claims: the next append is checked against that one.
 * @param garbage - where the last undecodable message stands, if there is one
 */
export function foldRecord(
  aggregate: AggregateId,
  events: Iterable<StoredEvent>,
  garbage?: Head,
): AggregateRecord {
  const lastOf: Partial<Record<EventWriter, StoredEvent>> = {};
  let newest: StoredEvent | undefined;
  let last: Head | undefined = garbage;
  for (const event of events) {
    const { writer } = event.definition;
    const before = lastOf[writer];
    if (!before || isNewer(event, before)) lastOf[writer] = event;
    if (!newest || isNewer(event, newest)) newest = event;
    if (!last || event.sequence > last.sequence) last = event;
  }
  const head = last && { epoch: last.epoch, sequence: last.sequence, digest: last.digest };
  return { aggregate, head, newest, lastOf };
}

/** A cluster's sections; each is absent until its owner has written one. */
export interface ClusterRecord extends AggregateRecord {
  readonly identity: Identity | undefined;
  readonly decision: Decision | undefined;
  readonly access: Access | undefined;
  readonly liveness: Liveness | undefined;
  readonly cut: Cut | undefined;
  /** Only of a cluster that names a kubeconfig Secret. */
  readonly hosting: Hosting | undefined;
}

/** Who has asked as this cluster, and has neither been refused nor left since. */
export function currentIdentity({ identity }: Pick<ClusterRecord, 'identity'>): Identity | undefined {
  return identity && identity.state !== 'left' && identity.state !== 'refused' ? identity : undefined;
}

// The casts below are sound because decodeEvent has parsed each section with the schema of its own definition.
export function clusterRecord(record: AggregateRecord): ClusterRecord {
  const { lastOf } = record;
  return {
    ...record,
    identity: lastOf.registrar?.section as Identity | undefined,
    decision: lastOf.approver?.section as Decision | undefined,
    access: lastOf['rbac-provisioner']?.section as Access | undefined,
    liveness: lastOf.heartbeat?.section as Liveness | undefined,
    cut: lastOf['account-controller']?.section as Cut | undefined,
    hosting: lastOf['agent-host']?.section as Hosting | undefined,
  };
}

export interface TokenRecord extends AggregateRecord {
  readonly declaration: TokenDeclaration | undefined;
  readonly uses: TokenUses | undefined;
  /** Of a token that the hub makes; stands on the aggregate `declaration.publicationId` alone. */
  readonly publication?: Publication | undefined;
}

export function tokenRecord(record: AggregateRecord): TokenRecord {
  return {
    ...record,
    declaration: record.lastOf.approver?.section as TokenDeclaration | undefined,
    uses: record.lastOf.registrar?.section as TokenUses | undefined,
    publication: record.lastOf['rbac-provisioner']?.section as Publication | undefined,
  };
}

/**
 * Whether a token is void because the hub was restored since: the approver says so, or has not spoken about it in this epoch.
 * @param epoch - the hub's own
 */
export function isTokenVoid({ declaration, lastOf }: TokenRecord, epoch: number): boolean {
  if (declaration === undefined) return false;
  return declaration.voidSinceEpoch !== undefined || (lastOf.approver?.epoch ?? epoch) < epoch;
}

/** Whether a token was taken back for good. One with a problem lets nobody in either, and may be corrected in the next minute. */
export function isTakenBack({ withdrawn, problem }: TokenDeclaration): boolean {
  return withdrawn && problem === undefined;
}

export interface NameRecord extends AggregateRecord {
  /** The cluster that has the name, or undefined while it is free. */
  readonly holder: string | undefined;
  /** Who has it or had it last. */
  readonly lastHolder: string | undefined;
}

export function nameRecord(record: AggregateRecord): NameRecord {
  const last = record.newest?.section as NameHolder | undefined;
  const lastHolder = last?.clusterId;
  return { ...record, lastHolder, holder: last?.free ? undefined : lastHolder };
}

/** Of the key of an agent: NKeys are base32, so their lower case is a safe id and still tells them apart. */
export function keyAggregate(agentKey: string): AggregateId {
  return { kind: 'key', id: agentKey.toLowerCase() };
}

export interface KeyRecord extends AggregateRecord {
  /** The cluster that the key belongs to; undefined for one that never asked. */
  readonly holder: string | undefined;
}

export function keyRecord(record: AggregateRecord): KeyRecord {
  return { ...record, holder: (record.newest?.section as KeyHolder | undefined)?.clusterId };
}

export function policyDeclaration(record: AggregateRecord): PolicyDeclaration | undefined {
  return record.lastOf.approver?.section as PolicyDeclaration | undefined;
}

export function setDeclaration(record: AggregateRecord): SetDeclaration | undefined {
  return record.lastOf.approver?.section as SetDeclaration | undefined;
}
