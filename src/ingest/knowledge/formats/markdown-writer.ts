import { documentErrors } from './errors.ts';

/**
 * Joins blocks to Markdown, with blank lines between blocks, but not between list items or table rows. Throws if the
 * text becomes longer than the limit.
 */
export class MarkdownWriter {
  readonly #maxUnits: number;
  readonly #parts: string[] = [];
  #units = 0;
  #last: 'none' | 'block' | 'item' | 'row' = 'none';
  #columns = 0;

  constructor({ maxUnits }: { maxUnits: number }) {
    this.#maxUnits = maxUnits;
  }

  isEmpty(): boolean {
    return this.#units === 0;
  }

  /** Where the next block starts, at the earliest: a page that begins here. */
  get position(): number {
    return this.#units;
  }

  heading(level: number, text: string): void {
    const line = oneLine(text);
    if (line !== '') this.#block(`${'#'.repeat(Math.min(Math.max(level, 1), 6))} ${line}`);
  }

  /** Keeps line breaks. */
  paragraph(text: string): void {
    const lines = tidyLines(text);
    if (lines !== '') this.#block(lines);
  }

  code(text: string): void {
    const body = text.replace(/^\n+/, '').trimEnd();
    if (body === '') return;
    const longest = Math.max(2, ...(body.match(/`+/g) ?? []).map((run) => run.length).slice(0, 10_000));
    const fence = '`'.repeat(longest + 1);
    this.#block(`${fence}\n${body}\n${fence}`);
  }

  quote(text: string): void {
    const lines = tidyLines(text);
    if (lines !== '') this.#block(`> ${lines.replaceAll('\n', '\n> ')}`);
  }

  /** `number` is null for bullets; depth counts from 0. */
  listItem(text: string, { depth, number }: { depth: number; number: number | null }): void {
    const lines = tidyLines(text);
    if (lines === '') return;
    const indent = '  '.repeat(Math.min(Math.max(depth, 0), 8));
    const mark = number === null ? '-' : `${number}.`;
    const rest = `\n${indent}${' '.repeat(mark.length + 1)}`;
    this.#add(
      `${this.#last === 'item' ? '\n' : this.#gap()}${indent}${mark} ${lines.replaceAll('\n', rest)}`,
      'item',
    );
  }

  /** The next row starts another table. */
  beginTable(): void {
    this.#columns = 0;
  }

  tableRow(cells: readonly string[]): void {
    const texts = cells.map((cell) => oneLine(cell).replaceAll('|', '\\|'));
    if (texts.every((cell) => cell === '')) return;
    const row = `| ${texts.join(' | ')} |`;
    const isFirst = this.#columns === 0;
    this.#add(`${isFirst ? this.#gap() : '\n'}${row}`, 'row');
    if (!isFirst) return;
    this.#columns = texts.length;
    this.#add(`\n|${' --- |'.repeat(texts.length)}`, 'row');
  }

  toString(): string {
    return this.#parts.join('');
  }

  #block(text: string): void {
    this.#add(`${this.#gap()}${text}`, 'block');
  }

  #gap(): string {
    return this.#last === 'none' ? '' : '\n\n';
  }

  #add(text: string, kind: 'block' | 'item' | 'row'): void {
    this.#units += text.length;
    if (this.#units > this.#maxUnits) {
      throw documentErrors.raise.document_too_large(
        `The document has more than ${this.#maxUnits} characters of text, which is the limit`,
      );
    }
    this.#parts.push(text);
    this.#last = kind;
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function tidyLines(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/[^\S\n]+/g, ' ').trim());
  return lines.filter((line) => line !== '').join('\n');
}
