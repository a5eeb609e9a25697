import type { NatsConnection } from '@nats-io/transport-node';
import { serviceRoles } from '@rollcall/shared/rights';

/** What one replica of a service says of itself on `$SRV.STATS`. */
export interface ServiceAnswer {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly started: string;
  /** `ready`, and the figures that this service has. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Every service that a hub has. */
export const serviceNames = Object.keys(serviceRoles);

const allWithinMs = 2000;
/** The slowest of those who answer at all comes well within it; who has not answered then is away. */
const silenceMs = 400;

function parse(text: string): ServiceAnswer | undefined {
  try {
    const said = JSON.parse(text) as Partial<Record<string, unknown>>;
    const { name, id, version, started, data } = said;
    if (typeof name !== 'string' || typeof id !== 'string' || typeof version !== 'string') return undefined;
    if (!serviceNames.includes(name)) return undefined;
    const figures = Object.entries((data ?? {}) as Record<string, unknown>).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    );
    return {
      name,
      id,
      version,
      started: typeof started === 'string' ? started : '',
      figures: Object.fromEntries(figures),
    };
  } catch {
    return undefined;
  }
}

/** Asks all services at once how they are; those that do not answer are simply not there. */
export async function askServices(nc: NatsConnection): Promise<ServiceAnswer[]> {
  const answers: ServiceAnswer[] = [];
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
  return answers.toSorted((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
}

/** The largest of what the replicas of a service say: each of them knows everything, a young one perhaps not yet. */
export function figureOf(
  answers: readonly ServiceAnswer[],
  service: string,
  figure: string,
): number | undefined {
  const values = answers.flatMap(({ name, figures }) =>
    name === service && figures[figure] !== undefined ? [figures[figure]] : [],
  );
  return values.length === 0 ? undefined : Math.max(...values);
}
