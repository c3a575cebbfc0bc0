/** In the order of preference for a tie. */
export const delimiters = [',', ';', '\t', '|'] as const;

export type Delimiter = (typeof delimiters)[number];

/** How far into an endless header the delimiter is searched. */
const headerLookLength = 64 * 1024;

/** Where the header line ends outside quotes, or -1 while it is incomplete. Blank lines before it are skipped. */
export function headerEnd(text: string): number {
  let isQuoted = false;
  let isBlank = true;
  const end = Math.min(text.length, headerLookLength);
  for (let at = 0; at < end; at += 1) {
    const character = text[at];
    if (character === '"') isQuoted = !isQuoted;
    const isBreak = !isQuoted && (character === '\n' || character === '\r');
    if (isBreak && !isBlank) return at;
    isBlank &&= isBreak;
  }
  return text.length >= headerLookLength ? headerLookLength : -1;
}

/**
 * The most frequent delimiter in the header outside quotes; a comma when there is none. In a tie, the one with fewer
 * spaces after it: in "sku;price, net" the comma belongs to a name.
 */
export function detectDelimiter(header: string): Delimiter {
  const counts = delimiters.map((delimiter) => ({ delimiter, total: 0, spaced: 0 }));
  let isQuoted = false;
  for (let at = 0; at < header.length; at += 1) {
    if (header[at] === '"') isQuoted = !isQuoted;
    const count = isQuoted ? undefined : counts.find(({ delimiter }) => delimiter === header[at]);
    if (count === undefined) continue;
    count.total += 1;
    if (header[at + 1] === ' ') count.spaced += 1;
  }
  const [best] = counts.toSorted((a, b) => b.total - a.total || a.spaced - b.spaced);
  return best?.delimiter ?? ',';
}
