import { type PdfCell, tableAt } from './tables.ts';

/** A piece of text with its position on the page, as the PDF library returns it. */
export interface PdfItem {
  str: string;
  hasEOL: boolean;
  /** Scale, skew and position: the last two numbers are x and y of its baseline. */
  transform: number[];
  width: number;
  height: number;
}

export interface PdfLine {
  text: string;
  /** Font size of most characters. */
  fontSize: number;
  y: number;
  /** Parts that are far apart: more than one may be a row of a table. */
  cells: PdfCell[];
}

/** The lines of a page in document order, which usually is the reading order. */
export function linesOf(items: readonly PdfItem[]): PdfLine[] {
  const lines: PdfLine[] = [];
  let parts: PdfItem[] = [];
  const end = () => {
    const line = lineOf(parts);
    if (line !== null) lines.push(line);
    parts = [];
  };
  for (const item of items) {
    const last = parts.at(-1);
    if (last !== undefined && isOnOtherLine(last, item)) end();
    parts.push(item);
    if (item.hasEOL) end();
  }
  end();
  return lines;
}

function isOnOtherLine(last: PdfItem, next: PdfItem): boolean {
  if (next.str.trim() === '' || last.str.trim() === '') return false;
  return Math.abs(yOf(last) - yOf(next)) > Math.max(sizeOf(last), sizeOf(next), 1);
}

function lineOf(items: readonly PdfItem[]): PdfLine | null {
  let text = '';
  let widest: PdfItem | undefined;
  let previous: PdfItem | undefined;
  for (const item of items) {
    text += previous !== undefined && needsSpace(previous, item) ? ` ${item.str}` : item.str;
    if (item.str.trim() === '') continue;
    previous = item;
    if (widest === undefined || item.str.length > widest.str.length) widest = item;
  }
  if (widest === undefined) return null;
  const shown = text.replace(/\s+/g, ' ').trim();
  return { text: shown, fontSize: sizeOf(widest), y: yOf(widest), cells: cellsOf(items) };
}

/** Twice a wide space; words of justified text are nearer. */
const cellGap = 1.2;

function cellsOf(items: readonly PdfItem[]): PdfCell[] {
  const cells: PdfCell[] = [];
  let previous: PdfItem | undefined;
  for (const item of items) {
    if (item.str.trim() === '') continue;
    const from = item.transform[4] ?? 0;
    const last = cells.at(-1);
    const text = item.str.replace(/\s+/g, ' ');
    const isApart = last === undefined || from - last.to > sizeOf(item) * cellGap || from < last.from;
    if (isApart) cells.push({ text: text.trim(), from, to: from + item.width });
    else {
      last.text += previous !== undefined && needsSpace(previous, item) ? ` ${text}` : text;
      last.to = Math.max(last.to, from + item.width);
    }
    previous = item;
  }
  return cells.map((cell) => ({ ...cell, text: cell.text.trim() }));
}

/** Columns of a table are apart without a character between them. */
function needsSpace(previous: PdfItem, item: PdfItem): boolean {
  if (/\s$/.test(previous.str) || /^\s/.test(item.str)) return false;
  const gap = (item.transform[4] ?? 0) - ((previous.transform[4] ?? 0) + previous.width);
  return gap > sizeOf(item) * 0.25;
}

function yOf(item: PdfItem): number {
  return item.transform[5] ?? 0;
}

function sizeOf(item: PdfItem): number {
  return Math.hypot(item.transform[2] ?? 0, item.transform[3] ?? 0) || item.height;
}

/** The font size of body text: that of most characters so far. */
export class BodySize {
  readonly #characters = new Map<number, number>();

  add(lines: readonly PdfLine[]): void {
    for (const { fontSize, text } of lines) {
      const rounded = Math.round(fontSize * 2) / 2;
      if (this.#characters.size > 1_000 && !this.#characters.has(rounded)) continue;
      this.#characters.set(rounded, (this.#characters.get(rounded) ?? 0) + text.length);
    }
  }

  get(): number {
    let [size, most] = [0, 0];
    for (const [fontSize, characters] of this.#characters) {
      if (characters > most) [size, most] = [fontSize, characters];
    }
    return size;
  }
}

export type PdfBlock =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'paragraph' | 'item'; text: string }
  | { kind: 'table'; rows: string[][] };

const bullet = /^[•◦▪‣●○■]\s*/;

/** Joins lines to paragraphs, items and headings. A larger distance than usual starts a paragraph. */
export function blocksOf(lines: readonly PdfLine[], bodySize: number): PdfBlock[] {
  const blocks: PdfBlock[] = [];
  const usual = usualDistance(lines);
  let previous: PdfLine | undefined;
  let below = 0;
  for (const [at, line] of lines.entries()) {
    if (at < below) continue;
    const table = tableAt(lines, at);
    if (table !== null) {
      blocks.push({ kind: 'table', rows: table.rows });
      below = at + table.length;
      previous = undefined;
      continue;
    }
    const level = headingLevel(line, bodySize);
    const last = blocks.at(-1);
    const isNear = previous !== undefined && isNextLine(previous, line, usual);
    if (level !== null) {
      if (last?.kind === 'heading' && last.level === level && isNear) last.text += ` ${line.text}`;
      else blocks.push({ kind: 'heading', level, text: line.text });
    } else if (bullet.test(line.text)) {
      blocks.push({ kind: 'item', text: line.text.replace(bullet, '') });
    } else if (last !== undefined && last.kind !== 'heading' && last.kind !== 'table' && isNear) {
      last.text = joinLine(last.text, line.text);
    } else {
      blocks.push({ kind: 'paragraph', text: line.text });
    }
    previous = line;
  }
  return blocks;
}

const longestHeading = 150;

function headingLevel({ text, fontSize }: PdfLine, bodySize: number): number | null {
  if (bodySize === 0 || text.length > longestHeading || !/\p{L}/u.test(text)) return null;
  const ratio = fontSize / bodySize;
  if (ratio >= 1.6) return 1;
  if (ratio >= 1.25) return 2;
  return ratio >= 1.12 ? 3 : null;
}

function isNextLine(previous: PdfLine, line: PdfLine, usual: number): boolean {
  const distance = previous.y - line.y;
  if (distance < -previous.fontSize) return false;
  return distance <= Math.max(usual * 1.35, line.fontSize * 1.05);
}

function usualDistance(lines: readonly PdfLine[]): number {
  const distances = lines
    .slice(1)
    .map((line, at) => Math.round(((lines[at]?.y ?? 0) - line.y) * 2) / 2)
    .filter((distance) => distance > 0)
    .sort((one, other) => one - other);
  return distances[Math.floor(distances.length / 2)] ?? 0;
}

/** Joins a word that was hyphenated at the end of a line. */
function joinLine(text: string, next: string): string {
  if (/\p{Ll}[-\u00ad\u2010]$/u.test(text) && /^\p{Ll}/u.test(next)) return `${text.slice(0, -1)}${next}`;
  return `${text} ${next}`;
}
