import type { NatsConnection } from '@nats-io/transport-node';
import { serviceRoles } from '@rollcall/shared/rights';

/** What one replica of a service says of itself on `$SRV.STATS`. */
export interface ServiceReply {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly started: string;
  /** `ready`, and the figures that this service has. */
  readonly figures: Readonly<Record<string, number>>;
  /** Of its configuration, what people plan by; an older version tells none of it. */
  readonly told?: Readonly<Record<string, string>>;
}

/** Every service that a hub can have. */
export const serviceNames = Object.keys(serviceRoles);
/** A hub whose members all come to it does without the agent host. */
export const isNeeded = (name: string): boolean => name !== 'agent-host';

const allWithinMs = 2000;
/** How long nobody has spoken when a round ends. A busy machine makes some late, so who is missing is waited for longer once more. */
const silencesMs = [400, 1200];

function parse(text: string): ServiceReply | undefined {
  try {
    const said = JSON.parse(text) as Partial<Record<string, unknown>>;
    const { name, id, version, started, data, metadata } = said;
    if (typeof name !== 'string' || typeof id !== 'string' || typeof version !== 'string') return undefined;
    if (!serviceNames.includes(name)) return undefined;
    const figures = Object.entries((data ?? {}) as Record<string, unknown>).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    const told = Object.entries((metadata ?? {}) as Record<string, unknown>).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return {
      name,
      id,
      version,
      started: typeof started === 'string' ? started : '',
      figures: Object.fromEntries(figures),
      told: Object.fromEntries(told),
    };
  } catch {
    return undefined;
  }
}

async function round(nc: NatsConnection, silenceMs: number): Promise<ServiceReply[]> {
  const answers: ServiceReply[] = [];
  try {
    const replies = await nc.requestMany('$SRV.STATS', undefined, {
      strategy: 'stall',
      stall: silenceMs,
      maxWait: allWithinMs,
    });
    for await (const reply of replies) {
      const answer = parse(reply.string());
      if (answer) answers.push(answer);
    }
  } catch {
    // Nobody answers at all: none of them is there.
  }
  return answers;
}

/** Asks all services at once how they are; those that do not answer when asked again are simply not there. */
export async function askServices(nc: NatsConnection): Promise<ServiceReply[]> {
  const byId = new Map<string, ServiceReply>();
  for (const silenceMs of silencesMs) {
    for (const answer of await round(nc, silenceMs)) byId.set(answer.id, answer);
    const heard = new Set([...byId.values()].map(({ name }) => name));
    if (serviceNames.every((name) => heard.has(name) || !isNeeded(name))) break;
  }
  return [...byId.values()].toSorted((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
}

function sumOfParts(answers: readonly ServiceReply[], figure: string): number | undefined {
  const parts = Map.groupBy(answers, ({ figures }) => figures['part'] ?? 0);
  const known = [...parts.values()]
    .map((ofPart) => figureOf(ofPart, 'heartbeat', figure))
    .filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

/**
 * Of a fleet in parts (`heartbeatPartition`), whose heartbeat services each know their own: the largest of each part, added up. While it
 * is being divided, services of both ways run beside each other; whoever knows most knows the fleet.
 */
export function figureOfParts(answers: readonly ServiceReply[], figure: string): number | undefined {
  const ways = Map.groupBy(answers, ({ figures }) => figures['parts'] ?? 1);
  const sums = [...ways.values()]
    .map((ofWay) => sumOfParts(ofWay, figure))
    .filter((sum) => sum !== undefined);
  return sums.length === 0 ? undefined : Math.max(...sums);
}

const valuesOf = (answers: readonly ServiceReply[], service: string, figure: string): number[] =>
  answers.flatMap(({ name, figures }) =>
    name === service && figures[figure] !== undefined ? [figures[figure]] : [],
  );

/** The largest of what the replicas of a service say: each of them knows everything, a young one perhaps not yet. */
export function figureOf(
  answers: readonly ServiceReply[],
  service: string,
  figure: string,
): number | undefined {
  const values = valuesOf(answers, service, figure);
  return values.length === 0 ? undefined : Math.max(...values);
}

/** The smallest of them: for 1 where all is well and 0 where it is not, so that one replica of several is seen. */
export function leastFigureOf(
  answers: readonly ServiceReply[],
  service: string,
  figure: string,
): number | undefined {
  const values = valuesOf(answers, service, figure);
  return values.length === 0 ? undefined : Math.min(...values);
}
