export { heartbeatAgentTimeMs, heartbeatFlags, heartbeatFlagsOf, encodeHeartbeat } from './heartbeat.ts';
export { asBusError, isBatchRefused, isNoRoom } from './bus-error.ts';
export { type BusAddress, type BusCredentials, connectBus, connectionOptions, jwtProof } from './connect.ts';
export {
  countHeldEvents,
  type DeadLetter,
  dropDeadLetter,
  readDeadLetters,
  retryDeadLetter,
} from './dead-letters.ts';
export { sentOnHeaders } from './message-headers.ts';
export { connectNats } from './nats-transport.ts';
export {
  type DirectQuery,
  directGet,
  directGetEach,
  historySubject,
  TooManyResults,
} from './reads/direct-get.ts';
export type { RawMessage } from './reads/raw-message.ts';
export {
  type EventLog,
  type HeardEvent,
  type OnSkip,
  openEventLog,
  type SkippedEvent,
  type Trace,
} from './event-log.ts';
export { type Facts, factsSchema, type FactStore, openFactStore } from './facts.ts';
export { epochsAfter } from './history/epochs-after.ts';
export { followEvents } from './history/follow-events.ts';
export { type HeldEvents, openHeldEvents } from './held-events.ts';
export { type ArchivedEvents, deleteEvents, letsDelete, readArchived } from './history/history-archive.ts';
export {
  digestAt,
  type HistoryState,
  historyState,
  type HistoryWitness,
  keptWitness,
  missingOf,
  parseWitness,
  whyLost,
} from './history/history-witness.ts';
export { hubStreams, streamManager } from './stream-manager.ts';
export { inTurn } from './one-at-a-time.ts';
export type { LastWord } from './reads/last-events.ts';
export { notBehind } from './reads/up-to-date.ts';
export { type HubAggregate, readEpoch, readHubAggregate } from './read-hub-aggregate.ts';
export { shareReads } from './reads/share-reads.ts';
export { eventSpace } from './stream-space.ts';
export { seenOver } from './reads/seen-sequences.ts';
export { askServers } from './servers/ask-servers.ts';
export { type ConnectionQuery, listConnections, type ServerConnection } from './servers/list-connections.ts';
export { streamSize, type StreamSize } from './stream-size.ts';
export {
  handledByAll,
  handledEvents,
  refillStream,
  readStream,
  type StreamMessage,
  type StreamName,
  streamState,
} from './reads/whole-stream.ts';
export { forgetConsumers, setUpStreams } from './stream-definitions.ts';
export { isOvertaken } from './unreadable-event.ts';
