/** The model sees 128 tokens of a text and was trained on sentences; longer texts are seen through several windows. */
export const windowTokens = 110;

/** As few as possible, and of the same size but for one token: a short last one would say more than its share. */
export function windowsOf(pieces: readonly number[]): number[][] {
  const count = Math.ceil(pieces.length / windowTokens);
  const border = (at: number) => Math.floor((pieces.length * at) / count);
  return Array.from({ length: count }, (_, index) => pieces.slice(border(index), border(index + 1)));
}
