import { isBlank } from './normalise.ts';
import type { Span } from './ruler.ts';

/** One line: `end` is before its line break, `next` after it. */
export interface Line extends Span {
  next: number;
  /** The start of the line, which is enough to recognise it: a line can have twenty megabytes. */
  head: string;
}

/** Rules, fences and rows of dashes are shorter. */
const headUnits = 400;

export function lineAt(text: string, start: number): Line {
  const at = text.indexOf('\n', start);
  const end = at < 0 ? text.length : at;
  const next = at < 0 ? text.length : at + 1;
  return { start, end, next, head: text.slice(start, Math.min(end, start + headUnits)) };
}

export function isBlankLine(text: string, line: Line): boolean {
  for (let at = line.start; at < line.end; at += 1) if (!isBlank(text.charCodeAt(at))) return false;
  return true;
}

/** In columns; a tab counts as four. */
export function indentationOf(line: Line): number {
  let columns = 0;
  for (const sign of line.head) {
    if (sign === '\t') columns += 4;
    else if (sign === ' ') columns += 1;
    else break;
  }
  return columns;
}

/** The trimmed line; empty if it is too long for markup. */
function markOf(line: Line): string {
  return line.end - line.start > headUnits ? '' : line.head.trimEnd();
}

interface AtxHeading {
  level: number;
  title: string;
}

export function atxHeading(text: string, line: Line): AtxHeading | null {
  const found = /^ {0,3}(#{1,6})(?=\s|$)/.exec(line.head);
  if (!found) return null;
  const title = text.slice(line.start + found[0].length, line.end);
  return { level: found[1]?.length ?? 1, title: withoutClosing(title) };
}

export function isRule(line: Line): boolean {
  return /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/.test(markOf(line));
}

/** 1 or 2 for a line that underlines a heading. */
export function underlineLevel(line: Line): 1 | 2 | null {
  const mark = markOf(line);
  if (/^ {0,3}=+$/.test(mark)) return 1;
  return /^ {0,3}-+$/.test(mark) ? 2 : null;
}

export function isListItem(line: Line): boolean {
  return /^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/.test(line.head);
}

/** The row of dashes below the header of a table. */
export function isTableRule(line: Line): boolean {
  const mark = markOf(line);
  return mark.includes('|') && mark.includes('-') && /^[\s|:-]+$/.test(mark);
}

export interface Fence {
  sign: string;
  length: number;
}

/** `isInItem`: it may follow the marker of a list item, and be indented. */
export function openingFence(line: Line, isInItem = false): Fence | null {
  const head = isInItem ? line.head.replace(/^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?/, '') : line.head;
  const found = /^ {0,3}(`{3,}|~{3,})(.*)/.exec(head);
  const run = found?.[1];
  if (!run) return null;
  const sign = run.charAt(0);
  // Three backticks with another one on the same line are inline code.
  return sign === '`' && found[2]?.includes('`') ? null : { sign, length: run.length };
}

export function closesFence(line: Line, fence: Fence): boolean {
  const mark = markOf(line).trimStart();
  return mark.length >= fence.length && mark === fence.sign.repeat(mark.length);
}

/** `# Title #` may end with number signs that are not part of the title. */
function withoutClosing(title: string): string {
  const text = title.slice(0, headUnits * 2).trim();
  let end = text.length;
  while (end > 0 && text[end - 1] === '#') end -= 1;
  const isClosed = end < text.length && (end === 0 || /\s/.test(text.charAt(end - 1)));
  return isClosed ? text.slice(0, end).trimEnd() : text;
}
