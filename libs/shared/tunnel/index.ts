export { headerPairs, passedBack, passedToMember } from './passed-headers.ts';
export { refusedPath } from './refused-path.ts';
export {
  type AgentRefusal,
  type HeaderList,
  longestRequestBytes,
  readStreamRequest,
  readStreamResponse,
  type StreamRequest,
  type StreamResponse,
  streamRequestIn,
  streamVersion,
} from './stream-head.ts';
export { joinSocket } from './join-socket.ts';
export { boundKept } from './kept-bytes.ts';
export { TunnelAborted } from './tunnel-aborted.ts';
export { TunnelStream } from './tunnel-stream.ts';
export {
  aliveEveryMs,
  aliveWord,
  deadAfterMs,
  downOf,
  frameSubject,
  openSubject,
  placeOf,
  upOf,
} from './tunnel-subjects.ts';
