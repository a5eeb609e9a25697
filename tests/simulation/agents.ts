import type { Nkey } from '@rollcall/shared/trust';
import { nkeyFromRawSeed } from '../../libs/shared/trust/nkey.ts';
import { Agent, type MemberPlan } from './agent.ts';
import type { World } from './world.ts';

const keyPool = new Map<number, Nkey>();
/** Keys are the same in every seed: making one takes longer than what is done with it. */
export function poolKey(number: number): Nkey {
  let key = keyPool.get(number);
  if (!key) {
    const raw = new Uint8Array(32);
    new DataView(raw.buffer).setUint32(0, number);
    keyPool.set(number, (key = nkeyFromRawSeed('user', raw)));
  }
  return key;
}

/** All agents of a seed: who runs, and how answers find them. */
export class Agents {
  readonly all: Agent[] = [];
  readonly #world: World;
  #keys = 1;

  constructor(world: World) {
    this.#world = world;
    world.onAnswer((subject, data) => {
      const { scheduler, random, faults } = world;
      if (faults.strikes('answer.lost')) return;
      const [, , key, verb = ''] = subject.split('.');
      scheduler.after(random.next() * 3, () => {
        for (const agent of this.all) if (agent.key.publicKey === key) agent.hear(verb, data);
      });
    });
  }

  /** @param key - a copy of another agent's; else it makes its own */
  install(plan: MemberPlan, token: Nkey | undefined, key = this.newKey()): Agent {
    const agent = new Agent(this.#world, plan, { key, token });
    this.#world.note(agent.name, () => `is installed for ${plan.clusterName}, key ${agent.key.publicKey}`);
    this.all.push(agent);
    return agent;
  }

  newKey(): Nkey {
    return poolKey(this.#keys++);
  }

  running(): Agent[] {
    return this.all.filter(({ isRunning }) => isRunning);
  }
}
