export { beatAgentTimeMs, beatFlags, beatFlagsOf, encodeBeat } from './beat.ts';
export { type BusAddress, type BusCredentials, connectBus, connectionOptions, jwtProof } from './connect.ts';
export { type DeadLetter, readDeadLetters } from './dead-letters.ts';
export { type EventLog, openEventLog, type Trace } from './event-log.ts';
export { type Facts, factsSchema, type FactStore, openFactStore } from './facts.ts';
export { followEvents } from './follow-events.ts';
export { streamSize, type StreamSize } from './stream-size.ts';
export { setUpStreams } from './streams.ts';
