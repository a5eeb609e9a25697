export { type AccessBox, decodeMintReply, encodeMintReply, type MintReply, mintSubject } from './access.ts';
export {
  type Answer,
  maxAnswerLinks,
  type AnswerResult,
  answerSubject,
  decodeAnswer,
  encodeAnswer,
  linkAnswerKeys,
  linkSignedByCa,
  type SignedLink,
} from './answer.ts';
export { refuseStaleAsk } from './ask-freshness.ts';
export {
  type AskInput,
  decodeAsk,
  decodePassedOnAsk,
  type JoinBody,
  type MemberClaim,
  type ReceivedAsk,
  type Verb,
  verbs,
} from './ask.ts';
export {
  decodeHeardAnswer,
  decodeHeardQuestion,
  type Heard,
  type HeardAnswer,
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
