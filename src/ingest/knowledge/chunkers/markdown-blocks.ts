import type { Block, BlockKind } from './chunker.ts';
import {
  atxHeading,
  closesFence,
  type Fence,
  indentationOf,
  isBlankLine,
  isListItem,
  isRule,
  isTableRule,
  type Line,
  lineAt,
  openingFence,
  underlineLevel,
} from './markdown-lines.ts';
import { normaliseTitle } from './normalise.ts';
import type { Span } from './ruler.ts';
import { trimmed } from './splitters.ts';

/** A block, and where the search for the next one starts. */
interface Found {
  kind: BlockKind;
  end: number;
  next: number;
  heading?: { level: number; title: string };
}

/** Finds blocks of CommonMark and tables of GitHub, as far as it matters for cutting. */
export function* markdownBlocks(text: string): Generator<Block> {
  const outline = new Outline();
  let at = 0;
  const front = findFrontMatter(text);
  if (front) {
    yield* blocksOf(text, { start: 0, end: front.end }, { kind: 'front_matter', ...outline.place() });
    outline.beginSection();
    at = front.next;
  }
  while (at < text.length) {
    const line = lineAt(text, at);
    if (isBlankLine(text, line)) {
      at = line.next;
      continue;
    }
    const found = findBlock(text, line);
    if (found.heading) outline.enter(found.heading);
    yield* blocksOf(text, { start: at, end: found.end }, { kind: found.kind, ...outline.place() });
    at = found.next;
  }
}

/** The open headings, and the number of the current section. */
class Outline {
  #open: { level: number; title: string }[] = [];
  #path: readonly string[] = [];
  #section = 0;

  enter(heading: { level: number; title: string }): void {
    const title = normaliseTitle(heading.title);
    this.#open = this.#open.filter(({ level }) => level < heading.level);
    this.#open.push({ level: heading.level, title });
    this.#path = this.#open.map((open) => open.title).filter((name) => name !== '');
    this.beginSection();
  }

  beginSection(): void {
    this.#section += 1;
  }

  place(): { headingPath: readonly string[]; section: number } {
    return { headingPath: this.#path, section: this.#section };
  }
}

function* blocksOf(text: string, span: Span, block: Omit<Block, 'start' | 'end'>): Generator<Block> {
  for (const { start, end } of trimmed(text, span)) yield { ...block, start, end };
}

function findBlock(text: string, line: Line): Found {
  const fence = openingFence(line);
  if (fence) return findFence(text, line, fence);
  const heading = atxHeading(text, line);
  if (heading) return { kind: 'heading', end: line.end, next: line.next, heading };
  if (isRule(line)) return { kind: 'paragraph', end: line.end, next: line.next };
  if (isListItem(line)) return findList(text, line);
  return findTable(text, line) ?? findParagraph(text, line);
}

const frontMatterUnits = 64 * 1024;

function findFrontMatter(text: string): Found | null {
  const first = lineAt(text, 0);
  if (!/^\ufeff?---\s*$/.test(first.head)) return null;
  let at = first.next;
  while (at < text.length && at < frontMatterUnits) {
    const line = lineAt(text, at);
    if (/^(?:---|\.\.\.)\s*$/.test(line.head))
      return { kind: 'front_matter', end: line.end, next: line.next };
    at = line.next;
  }
  return null;
}

/** An unclosed fence extends to the end of the text, as in CommonMark. */
function findFence(text: string, first: Line, fence: Fence): Found {
  let line = first;
  while (line.next < text.length) {
    line = lineAt(text, line.next);
    if (closesFence(line, fence)) break;
  }
  return { kind: 'fence', end: line.end, next: line.next };
}

const listIndentation = 2;

/** A list ends before a line that is neither indented nor an item and follows a blank line or starts another block. */
function findList(text: string, first: Line): Found {
  let last = first;
  let line = first;
  let isApart = false;
  let fence = openingFence(first, true);
  while (line.next < text.length) {
    line = lineAt(text, line.next);
    if (isBlankLine(text, line)) {
      isApart = true;
      continue;
    }
    const isInside = indentationOf(line) >= listIndentation;
    if (!isInside && endsList(line, isApart)) break;
    // An unclosed fence ends with its item; otherwise the rest of the text would be code.
    if (fence && isInside) fence = closesFence(line, fence) ? null : fence;
    else fence = openingFence(line, true);
    last = line;
    isApart = false;
  }
  return { kind: 'list', end: last.end, next: last.next };
}

function endsList(line: Line, isApart: boolean): boolean {
  if (isRule(line) || openingFence(line) || /^ {0,3}#{1,6}(?:\s|$)/.test(line.head)) return true;
  return isApart && !isListItem(line);
}

function findTable(text: string, first: Line): Found | null {
  if (first.next >= text.length) return null;
  const rule = lineAt(text, first.next);
  if (!isTableRule(rule) || !text.slice(first.start, first.end).includes('|')) return null;
  let last = rule;
  while (last.next < text.length) {
    const line = lineAt(text, last.next);
    if (!text.slice(line.start, line.end).includes('|') || interruptsParagraph(line)) break;
    last = line;
  }
  return { kind: 'table', end: last.end, next: last.next };
}

/** Unlike in CommonMark, a longer text above a row of dashes is a paragraph with a rule below it. */
const maxUnderlinedUnits = 300;

function findParagraph(text: string, first: Line): Found {
  let last = first;
  while (last.next < text.length) {
    const line = lineAt(text, last.next);
    if (isBlankLine(text, line)) break;
    const level = underlineLevel(line);
    if (level && last.end - first.start <= maxUnderlinedUnits) {
      const heading = { level, title: text.slice(first.start, last.end) };
      return { kind: 'heading', end: line.end, next: line.next, heading };
    }
    if (interruptsParagraph(line) || findsTable(text, line)) break;
    last = line;
  }
  return { kind: 'paragraph', end: last.end, next: last.next };
}

function interruptsParagraph(line: Line): boolean {
  if (/^ {0,3}#{1,6}(?:\s|$)/.test(line.head) || openingFence(line) || isRule(line)) return true;
  // A number at the start of a wrapped line is not a list, unless it is 1.
  return /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/.test(line.head);
}

function findsTable(text: string, line: Line): boolean {
  if (line.next >= text.length || !line.head.includes('|')) return false;
  return isTableRule(lineAt(text, line.next));
}
