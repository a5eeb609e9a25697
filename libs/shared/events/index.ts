export { livenessOf } from './admission.ts';
export {
  admissionAggregate,
  admissionOf,
  type AuthorUnknown,
  authorUnknown,
  versionWord,
} from './admission-record.ts';
export * from './approver-events.ts';
export * from './archive-events.ts';
export { eventCatalogue } from './catalogue.ts';
export { type EventCause, type EventCauser, eventCauses } from './event-causes.ts';
export {
  type Cause,
  eventTypeName,
  type EventDefinition,
  eventWriters,
  type EventWriter,
} from './define-event.ts';
export {
  createEventId,
  decodeEvent,
  digestOf,
  draft,
  encodeEvent,
  type EncodedEvent,
  type EventDraft,
  type Head,
  type StoredEvent,
} from './envelope.ts';
export { firstTypes, isListedKind, type ListedKind } from './first-types.ts';
export { type ChainMessage, createChainCheck } from './chain.ts';
export { epochAggregate, type EpochRecord, epochRecord } from './epoch-record.ts';
export * from './heartbeat-events.ts';
export * from './host-events.ts';
export { paceAggregate, paceOf, stretchOf } from './pace.ts';
export { letInBy } from './let-in-by.ts';
export { agentAwaitedUntilMs, isTombstoned } from './leaving.ts';
export { type LivenessState, livenessStateOf } from './liveness-state.ts';
export * from './provisioner-events.ts';
export {
  type AggregateRecord,
  clusterRecord,
  type ClusterRecord,
  currentIdentity,
  foldRecord,
  keyAggregate,
  keyRecord,
  type KeyRecord,
  isNewer,
  isTakenBack,
  isTokenVoid,
  nameRecord,
  type NameRecord,
  policyDeclaration,
  setDeclaration,
  tokenRecord,
  type TokenRecord,
} from './record.ts';
export * from './registrar-events.ts';
export * from './restore-events.ts';
export { clusterIdOf, isSafeId, publicationIdOf } from './safe-id.ts';
export {
  isPredefinedUnclaimed,
  isReservedClusterName,
  type PredefinedObstacle,
  idMismatch,
  predefinedId,
  predefinedObstacle,
} from './predefined.ts';
export { type AggregateId, aggregateSubjects, parseEventSubject } from './subjects.ts';
export * from './trust-events.ts';
export { wishConfirmedForMs, wishesAggregate, wishesOf } from './wishes-record.ts';
