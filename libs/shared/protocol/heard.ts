import { z } from 'zod';
import { parseJsonAs } from './parse-json-as.ts';

/**
 * What people ask the heartbeat service: endpoint `clusters` of its micro service. It says what it hears now, which stands nowhere
 * else while nothing changes. Every replica answers; of several replies about one cluster the youngest heartbeat is right.
 */
export const heardSubject = 'rollcall.liveness.clusters';

/** So that a reply stays far below what the bus carries in one message. */
export const mostClustersAtOnce = 500;

const questionSchema = z.object({ ids: z.array(z.string().max(63)).max(mostClustersAtOnce) });

const heardSchema = z.looseObject({
  id: z.string().max(63),
  state: z.string().max(32),
  /** Hub time; absent before the first heartbeat. */
  lastHeartbeatAtMs: z.number().optional(),
  /** The NATS server that its agent connected to last; absent where this replica has not seen it connect. */
  server: z.string().max(128).optional(),
});
export type Heard = z.infer<typeof heardSchema>;

/** `clusters`: those of the question that are members, as far as this replica listens to them. */
const answerSchema = z.looseObject({
  replica: z.string().max(64),
  part: z.looseObject({ number: z.int(), count: z.int() }).optional(),
  clusters: z.array(heardSchema).max(mostClustersAtOnce),
});
export type HeardReply = z.infer<typeof answerSchema>;

/** @returns undefined when it is no such question */
export const decodeHeardQuestion = (text: string): { ids: string[] } | undefined =>
  parseJsonAs(questionSchema, text);
/** @returns undefined when it is no such reply */
export const decodeHeardReply = (text: string): HeardReply | undefined => parseJsonAs(answerSchema, text);
