import type { Role } from '@rollcall/shared/rights';
import type { RawBus } from '../harness/raw-bus.ts';
import { filledIn, probesFor, type WhoAsks } from './probes.ts';
import { isAllowed } from './subject-match.ts';

export interface Difference {
  readonly verb: 'publish' | 'subscribe' | 'subscribe in a queue group';
  readonly subject: string;
  readonly server: 'allows' | 'refuses';
}

export interface Outcome {
  readonly checks: number;
  readonly allowed: number;
  /** Where the server does something else than the table says. Empty is what we want. */
  readonly differences: readonly Difference[];
}

/** Asks the server about every probe and verb, and compares with what the table says of the role. */
export async function compareWithTable(bus: RawBus, role: Role, who: WhoAsks): Promise<Outcome> {
  const probes = probesFor(who);
  // Who publishes nothing is given this one subject, because an empty list would mean everything (nats-account-claims.ts).
  const publish = role.publish.length > 0 ? filledIn(role.publish, who) : ['rollcall.nobody'];
  const subscribe = filledIn(role.subscribe, who);
  const answers = [
    { verb: 'publish', allowList: publish, refused: await bus.refusedPublish(probes) },
    { verb: 'subscribe', allowList: subscribe, refused: await bus.refusedSubscribe(probes) },
    {
      verb: 'subscribe in a queue group',
      allowList: subscribe,
      refused: await bus.refusedSubscribe(probes, 'group'),
    },
  ] as const;
  const differences: Difference[] = [];
  let allowed = 0;
  for (const { verb, allowList, refused } of answers) {
    for (const subject of probes) {
      const mayIt = isAllowed(subject, allowList);
      if (mayIt) allowed += 1;
      if (mayIt === refused.has(subject)) {
        differences.push({ verb, subject, server: mayIt ? 'refuses' : 'allows' });
      }
    }
  }
  return { checks: probes.length * answers.length, allowed, differences };
}
