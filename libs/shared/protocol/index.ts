export { type AccessBox, decodeMintReply, encodeMintReply, type MintReply, mintSubject } from './access.ts';
export {
  type Reply,
  maxReplyLinks,
  type ReplyResult,
  replySubject,
  decodeReply,
  encodeReply,
  linkReplyKeys,
  linkSignedByCa,
  type SignedLink,
} from './reply.ts';
export { longestSkewMs, refuseStaleRequest } from './refuse-clock-skew.ts';
export {
  type AgentRequestInput,
  type JoinBody,
  type MemberClaim,
  type Verb,
  verbs,
} from './request-schema.ts';
export { decodeRequest, decodeForwardedRequest, type ReceivedRequest } from './verify-request.ts';
export {
  decodeHeardReply,
  decodeHeardQuestion,
  type Heard,
  type HeardReply,
  heardSubject,
  mostClustersAtOnce,
} from './heard.ts';
export {
  decodeFloodCut,
  decodeFloodHeard,
  type FloodCut,
  floodCutPrefix,
  type FloodHeard,
  floodHeardPrefix,
} from './flood.ts';
