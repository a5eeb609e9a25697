import {
  createNkey,
  createXkey,
  type Nkey,
  nkeyFromSeed,
  type Xkey,
  xkeyFromSeed,
} from '@rollcall/shared/trust/keys';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentState, Seeds } from './key-store.ts';

/** Keys made here, which never leave it (principle 7). */
export function newSeeds(): Seeds {
  return { seed: createNkey('user').seed, sealingSeed: createXkey().seed };
}

/** A new agent's state. */
export function newAgentState(owner: { clusterId: string; hubId: string }): AgentState {
  return { version: 1, ...newSeeds(), ...owner };
}

/** The agent's keys as they are now: they change while it runs, by a rotation. */
export interface KeyRing {
  current(): Nkey;
  /** While a rotation is under way: the key that takes over once the hub has let it in. */
  next(): Nkey | undefined;
  /** Of the X25519 key that goes with `current`. */
  readonly sealing: Pick<Xkey, 'publicKey' | 'open'>;
}

/** Keys of seeds; made once each. */
function keyOf<Key>(make: (seed: string) => Key): (seed: string) => Key {
  let known: { seed: string; key: Key } | undefined;
  return (seed) => {
    if (known?.seed !== seed) known = { seed, key: make(seed) };
    return known.key;
  };
}

/**
 * @param state - gives the state of now
 * @throws RollcallError AGENT_STATE_INVALID where one of the keys in it is damaged
 */
export function createKeyRing(state: () => AgentState, place: string): KeyRing {
  const [current, next, sealing] = [keyOf(nkeyFromSeed), keyOf(nkeyFromSeed), keyOf(xkeyFromSeed)];
  const ring: KeyRing = {
    current: () => current(state().seed),
    next() {
      const seeds = state().next;
      return seeds && next(seeds.seed);
    },
    sealing: {
      get publicKey() {
        return sealing(state().sealingSeed).publicKey;
      },
      open: (box, by) => sealing(state().sealingSeed).open(box, by),
    },
  };
  try {
    ring.current();
    ring.next();
    sealing(state().sealingSeed);
  } catch (cause) {
    throw new RollcallError('AGENT_STATE_INVALID', `a key in ${place} is damaged`, { cause });
  }
  return ring;
}
