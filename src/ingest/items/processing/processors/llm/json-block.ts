const fence = '```';
const language = 'json';

/**
 * Models like to wrap JSON in a block of Markdown: what is in the first block, or else the whole text. By `indexOf`:
 * a pattern would try every space after an opening fence that is never closed.
 */
export function jsonBlockOf(text: string): string {
  const opened = text.indexOf(fence);
  const closed = opened === -1 ? -1 : text.indexOf(fence, opened + fence.length);
  if (closed === -1) return text;
  const inside = text.slice(opened + fence.length, closed);
  return inside.startsWith(language) ? inside.slice(language.length) : inside;
}
