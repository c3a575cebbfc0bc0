/** As few windows as possible, of equal size: a short last one would count for more than its share. */
export function windowsOf(pieces: readonly number[], windowTokens: number): number[][] {
  const count = Math.ceil(pieces.length / windowTokens);
  const border = (at: number) => Math.floor((pieces.length * at) / count);
  return Array.from({ length: count }, (_, index) => pieces.slice(border(index), border(index + 1)));
}
