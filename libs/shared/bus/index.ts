export { beatAgentTimeMs, beatFlags, beatFlagsOf, encodeBeat } from './beat.ts';
export { asBusError, isBatchRefused, isNoRoom } from './bus-error.ts';
export { type BusAddress, type BusCredentials, connectBus, connectionOptions, jwtProof } from './connect.ts';
export {
  countHeldEvents,
  type DeadLetter,
  dropDeadLetter,
  readDeadLetters,
  retryDeadLetter,
} from './dead-letters.ts';
export { type DirectQuery, directGet, historySubject, TooManyResults } from './direct-get.ts';
export {
  type EventLog,
  type HeardEvent,
  type OnSkip,
  openEventLog,
  type SkippedEvent,
  type Trace,
} from './event-log.ts';
export { type Facts, factsSchema, type FactStore, openFactStore } from './facts.ts';
export { followEvents } from './follow-events.ts';
export { type HeldEvents, openHeldEvents } from './held-events.ts';
export { type ArchivedEvents, deleteEvents, letsDelete, readArchived } from './history-archive.ts';
export {
  digestAt,
  type HistoryState,
  historyState,
  type HistoryWitness,
  keptWitness,
  missingOf,
  parseWitness,
  whyLost,
} from './history-witness.ts';
export { hubStreams, streamManager } from './hub-streams.ts';
export { inTurn } from './in-turn.ts';
export type { LastWord } from './last-words.ts';
export { notBehind } from './not-behind.ts';
export { shareReads } from './share-reads.ts';
export { eventSpace } from './stream-space.ts';
export { seenOver } from './seen-sequences.ts';
export { streamSize, type StreamSize } from './stream-size.ts';
export {
  handledByAll,
  handledEvents,
  refillStream,
  readStream,
  type StreamMessage,
  type StreamName,
  streamState,
} from './whole-stream.ts';
export { forgetConsumers, setUpStreams } from './streams.ts';
export { isOvertaken } from './unreadable-event.ts';
