export { livenessOf } from './admission.ts';
export {
  admissionAggregate,
  admissionOf,
  type AuthorUnknown,
  authorUnknown,
  versionWord,
  wordsOfUnknownAuthor,
} from './records/admission-record.ts';
export * from './types/approver-events.ts';
export * from './types/archive-events.ts';
export { eventCatalogue } from './catalogue.ts';
export { clocksDifferMs, isAhead, isRecent } from './clocks-differ.ts';
export {
  type Cause,
  eventTypeName,
  type EventDefinition,
  eventWriters,
  type EventWriter,
} from './define-event.ts';
export { digestOf } from './event-digest.ts';
export {
  createEventId,
  decodeEvent,
  draft,
  encodeEvent,
  type EncodedEvent,
  type EventDraft,
  type Head,
  type StoredEvent,
} from './envelope.ts';
export { firstTypes, isListedKind, type ListedKind } from './first-event-types.ts';
export { type ChainMessage, createChainCheck } from './check-history-chain.ts';
export {
  epochAggregate,
  type EpochRecord,
  epochRecord,
  spentAggregate,
  spentPart,
} from './records/epoch-record.ts';
export * from './types/heartbeat-events.ts';
export * from './types/host-events.ts';
export { intervalAggregate, intervalOf, multiplierOf } from './interval.ts';
export { admittedBy } from './admitted-by.ts';
export { agentAwaitedUntilMs, isTombstoned } from './leaving.ts';
export { type LivenessState, livenessStateOf } from './records/liveness-state.ts';
export * from './types/provisioner-events.ts';
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
} from './records/fold-record.ts';
export * from './types/registrar-events.ts';
export * from './types/restore-events.ts';
export { clusterIdOf, isSafeId, publicationIdOf } from './safe-id.ts';
export {
  isPredefinedUnbound,
  isReservedClusterName,
  type PredefinedObstacle,
  idMismatch,
  predefinedId,
  predefinedObstacle,
} from './predefined-clusters.ts';
export { waitsAsNewcomer } from './waits-as-newcomer.ts';
export { type AggregateId, aggregateSubjects, parseEventSubject } from './event-subjects.ts';
export * from './types/trust-events.ts';
export { isDecidedSince } from './records/decided-since.ts';
export { bulkConfirmedForMs, bulkAggregate, bulkOf } from './records/bulk-record.ts';
