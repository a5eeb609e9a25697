import { type Msg, type NatsConnection, nuid } from '@nats-io/transport-node';
import { z } from 'zod';

const youngestSubject = 'rollcall.liveness.youngest';
/** How long other replicas may take to say what they have heard. */
const answerWithinMs = 200;

const questionSchema = z.looseObject({ from: z.string(), ids: z.array(z.string().max(63)).max(1000) });
/** Ages in the order of the ids asked for; null: never heard. */
const answerSchema = z.looseObject({ agesMs: z.array(z.number().min(0).nullable()).max(1000) });

function parsed<Schema extends z.ZodType>(schema: Schema, message: Msg): z.output<Schema> | undefined {
  try {
    return schema.safeParse(message.json()).data;
  } catch {
    return undefined;
  }
}

export interface Replicas {
  /** The youngest heartbeat that any other replica has heard, as age in ms, in the order of the ids; at most 1,000. */
  youngest(ids: readonly string[]): Promise<(number | undefined)[]>;
  stop(): void;
}

/** @param ageOf - how long ago, in ms, this replica itself heard the cluster; undefined: never */
export function joinReplicas(nc: NatsConnection, ageOf: (clusterId: string) => number | undefined): Replicas {
  const me = nuid.next();
  const agesIn = (id: string) => {
    const ageMs = ageOf(id);
    // By clocks that differ a heartbeat may look as if it were still to come.
    return ageMs === undefined ? null : Math.max(0, ageMs);
  };
  const questions = nc.subscribe(youngestSubject, {
    callback: (error, message) => {
      const question = error ? undefined : parsed(questionSchema, message);
      if (!question || question.from === me) return;
      message.respond(JSON.stringify({ agesMs: question.ids.map(agesIn) }));
    },
  });
  return {
    async youngest(ids) {
      const youngest: (number | undefined)[] = ids.map(() => undefined);
      const answers = await nc.requestMany(youngestSubject, JSON.stringify({ from: me, ids }), {
        strategy: 'timer',
        maxWait: answerWithinMs,
      });
      for await (const message of answers) {
        for (const [index, ageMs] of (parsed(answerSchema, message)?.agesMs ?? []).entries()) {
          if (ageMs !== null && index < ids.length)
            youngest[index] = Math.min(youngest[index] ?? Infinity, ageMs);
        }
      }
      return youngest;
    },
    stop() {
      questions.unsubscribe();
    },
  };
}
