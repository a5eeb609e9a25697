/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** 0 to 1, without 1. */
  next(): number;
  chance(share: number): boolean;
  /** Both ends included. */
  int(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** Two seeds next to each other must have nothing in common: the state is mixed before it is used. */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed ^ 0x9e_37_79_b9, 0x85_eb_ca_6b) >>> 0;
  const next = (): number => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    chance: (share) => next() < share,
    int: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick(items) {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new RangeError('nothing to pick from');
      return item;
    },
  };
}
