/** Repeatable random numbers (mulberry32). */
export function makeDice(seed: number) {
  let state = seed >>> 0;
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
  const oneOf = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  return { below, oneOf, letter: () => String.fromCharCode(97 + below(26)) };
}
