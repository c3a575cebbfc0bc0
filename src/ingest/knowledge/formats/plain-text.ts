import { decodeText } from './decode-text.ts';
import { readFrontMatter } from './front-matter.ts';
import type { Converted, ConvertOptions } from './types.ts';

/** The title comes from the front matter or from the first heading of level 1. */
export function readMarkdown(bytes: Buffer, { charset }: ConvertOptions): Converted {
  const notes: string[] = [];
  const text = decodeText(bytes, { declared: charset, notes });
  const front = readFrontMatter(text);
  const { title, ...metadata } = front?.fields ?? {};
  const named = typeof title === 'string' || typeof title === 'number' ? String(title).trim() : '';
  return { title: named || firstHeading(startOf(text, front?.units ?? 0)), text, notes, metadata };
}

export function readPlainText(bytes: Buffer, { charset }: ConvertOptions): Converted {
  const notes: string[] = [];
  return { title: null, text: decodeText(bytes, { declared: charset, notes }), notes };
}

/** Titles are at the top; the rest is not searched. */
const searchedUnits = 16 * 1024;

function startOf(text: string, from: number): string {
  return text.slice(from, from + searchedUnits).replace(/\r\n?/g, '\n');
}

function firstHeading(body: string): string | null {
  let isInFence = false;
  let previous = '';
  for (const line of body.split('\n')) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) isInFence = !isInFence;
    const heading = isInFence ? null : /^ {0,3}#[ \t]+([^ \t].*)$/.exec(line);
    if (heading !== null) return withoutClosing(heading[1] ?? '');
    if (!isInFence && /^ {0,3}=+[ \t]*$/.test(line) && previous.trim() !== '') return previous.trim();
    previous = line;
  }
  return null;
}

/** `# Title #` may end with any number of signs. */
function withoutClosing(heading: string): string {
  const trimmed = heading.trimEnd();
  let end = trimmed.length;
  while (end > 0 && trimmed[end - 1] === '#') end -= 1;
  return end < trimmed.length && /\s/.test(trimmed[end - 1] ?? '')
    ? trimmed.slice(0, end).trimEnd()
    : trimmed;
}
