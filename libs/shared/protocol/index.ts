export { type Answer, type AnswerResult, answerSubject, decodeAnswer, encodeAnswer } from './answer.ts';
export { type AskInput, decodeAsk, type JoinBody, type ReceivedAsk, type Verb } from './ask.ts';
