import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { say } from '../terminal/output.ts';
import {
  decodeHeardReply,
  type Heard,
  type HeardReply,
  heardSubject,
  mostClustersAtOnce,
} from '@rollcall/shared/protocol';

/** How long nobody has spoken when all replicas are taken to have answered the first question. */
const silenceMs = 400;
const allWithinMs = 2000;

export interface HeardFleet {
  /** By id; of those that no replica has as members there is none. */
  readonly clusters: ReadonlyMap<string, Heard>;
  /** Parts of the fleet that nobody answered for, as `1/2`; what is heard of those clusters is not known. */
  readonly missingParts: readonly string[];
}

async function ask(
  nc: NatsConnection,
  ids: readonly string[],
  answers: number | undefined,
): Promise<HeardReply[]> {
  const how =
    answers === undefined
      ? ({ strategy: 'stall', stall: silenceMs, maxWait: allWithinMs } as const)
      : ({ strategy: 'count', maxMessages: answers, maxWait: allWithinMs } as const);
  const all: HeardReply[] = [];
  try {
    for await (const reply of await nc.requestMany(heardSubject, JSON.stringify({ ids }), how)) {
      const answer = decodeHeardReply(reply.string());
      if (answer) all.push(answer);
    }
  } catch {
    // Nobody listens: then there are no answers.
  }
  return all;
}

/**
 * The youngest heartbeat of several replicas is right: one that does not receive is outvoted. A replica that began after an agent had
 * connected does not know its server; another one may.
 */
export function takeYoungest(clusters: Map<string, Heard>, answers: readonly HeardReply[]): void {
  for (const heard of answers.flatMap((answer) => answer.clusters)) {
    const before = clusters.get(heard.id);
    const isYounger =
      !before || (heard.lastHeartbeatAtMs ?? -Infinity) > (before.lastHeartbeatAtMs ?? -Infinity);
    const [first, second] = isYounger ? [heard, before] : [before, heard];
    const server = first.server ?? second?.server;
    clusters.set(heard.id, { ...first, ...(server === undefined ? {} : { server }) });
  }
}

/** Which parts of the fleet nobody has answered for; none where one replica listens to all of it. */
export function missingParts(answers: readonly Pick<HeardReply, 'part'>[]): string[] {
  const count = Math.max(0, ...answers.map(({ part }) => part?.count ?? 0));
  if (answers.some(({ part }) => part === undefined)) return [];
  const heard = new Set(answers.map(({ part }) => part?.number));
  return Array.from({ length: count }, (_, number) => number)
    .filter((number) => !heard.has(number))
    .map((number) => `${number}/${count}`);
}

/**
 * Asks every replica of the heartbeat service about these clusters, in questions of bounded size.
 * @throws RollcallError BUS_UNREACHABLE when no replica answers one of them: what is heard of its clusters is not known then
 */
export async function askHeard(nc: NatsConnection, ids: readonly string[]): Promise<HeardFleet> {
  const clusters = new Map<string, Heard>();
  const missing = new Set<string>();
  let replicas: number | undefined;
  for (let start = 0; start === 0 || start < ids.length; start += mostClustersAtOnce) {
    const answers = await ask(nc, ids.slice(start, start + mostClustersAtOnce), replicas);
    if (answers.length === 0) throw new RollcallError('BUS_UNREACHABLE', 'no heartbeat service answers');
    takeYoungest(clusters, answers);
    for (const part of missingParts(answers)) missing.add(part);
    replicas ??= new Set(answers.map(({ replica }) => replica)).size;
  }
  return { clusters, missingParts: [...missing] };
}

/** Says for which parts nobody answered: what is known of the others is not all. */
export function sayMissingParts({ missingParts: parts }: Pick<HeardFleet, 'missingParts'>): void {
  for (const part of parts) say(`part ${part} of the fleet: no heartbeat service answers for it`);
}

export function serversIn({ clusters }: HeardFleet): Map<string, string> {
  return new Map([...clusters].flatMap(([id, { server }]) => (server === undefined ? [] : [[id, server]])));
}
