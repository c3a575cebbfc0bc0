/** Random choices that are the same for the same seed, so that a corpus is the same everywhere. */
export interface Dice {
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
  shuffled<T>(list: readonly T[]): T[];
}

export function diceFrom(seed: number): Dice {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return {
    below,
    pick: (list) => {
      const drawn = list[below(list.length)];
      if (drawn === undefined) throw new Error('There is nothing to draw from an empty list');
      return drawn;
    },
    shuffled: (list) => {
      const drawn = [...list];
      for (let at = drawn.length - 1; at > 0; at -= 1) {
        const other = below(at + 1);
        const [a, b] = [drawn[at], drawn[other]];
        if (a === undefined || b === undefined) continue;
        drawn[at] = b;
        drawn[other] = a;
      }
      return drawn;
    },
  };
}
