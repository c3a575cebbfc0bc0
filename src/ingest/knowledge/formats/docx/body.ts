import type { XmlAttributes, XmlEvents } from '../../../../lib/formats/xml.ts';
import type { MarkdownWriter } from '../markdown-writer.ts';
import { type DocxNumbering, type DocxStyles, outlineLevelOf } from './styles.ts';

interface Paragraph {
  parts: string[];
  styleId: string | null;
  outlineLevel: number | null;
  listId: string | null;
  listDepth: number;
}

interface Table {
  cells: string[];
  /** Contents of the open cell; null between cells. */
  cell: string[] | null;
}

/** Duplicates and deletions: the fallback of a drawing, and text deleted with tracked changes. */
const skipped = new Set(['Fallback', 'del', 'moveFrom']);

/** Turns the events of `document.xml` into blocks. Paragraphs and tables may be nested (text boxes). */
export class DocxBody implements XmlEvents {
  /** The text of the first paragraph with the title style. */
  title: string | null = null;
  /** How many other files are embedded as a part of the text. */
  embedded = 0;
  readonly #writer: MarkdownWriter;
  readonly #styles: DocxStyles;
  readonly #numbering: DocxNumbering;
  readonly #paragraphs: Paragraph[] = [];
  readonly #tables: Table[] = [];
  readonly #counts = new Map<string, number[]>();
  #isText = false;
  #skipDepth = 0;

  constructor(options: { writer: MarkdownWriter; styles: DocxStyles; numbering: DocxNumbering }) {
    this.#writer = options.writer;
    this.#styles = options.styles;
    this.#numbering = options.numbering;
  }

  open(name: string, attribute: XmlAttributes): void {
    if (this.#skipDepth > 0 || skipped.has(name)) {
      this.#skipDepth += 1;
      return;
    }
    if (name === 'altChunk') this.embedded += 1;
    if (name === 'p') this.#paragraphs.push(newParagraph());
    else if (name === 't') this.#isText = true;
    else if (name === 'tbl') this.#beginTable();
    else if (name === 'tr') this.#withTable((table) => Object.assign(table, { cells: [], cell: null }));
    else if (name === 'tc') this.#withTable((table) => Object.assign(table, { cell: [] }));
    else this.#openInParagraph(name, attribute);
  }

  close(name: string): void {
    if (this.#skipDepth > 0) {
      this.#skipDepth -= 1;
      return;
    }
    if (name === 'p') this.#endParagraph();
    else if (name === 't') this.#isText = false;
    else if (name === 'tc') this.#withTable(endCell);
    else if (name === 'tr') this.#withTable((table) => this.#endRow(table));
    else if (name === 'tbl') this.#tables.pop();
  }

  text(text: string): void {
    if (this.#isText && this.#skipDepth === 0) this.#paragraphs.at(-1)?.parts.push(text);
  }

  #openInParagraph(name: string, attribute: XmlAttributes): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph === undefined) return;
    if (name === 'tab' || name === 'ptab') paragraph.parts.push('\t');
    else if (name === 'br' || name === 'cr') paragraph.parts.push('\n');
    else if (name === 'noBreakHyphen') paragraph.parts.push('-');
    else if (name === 'pStyle') paragraph.styleId = attribute('val');
    else if (name === 'outlineLvl') paragraph.outlineLevel = outlineLevelOf(attribute('val'));
    else if (name === 'ilvl') paragraph.listDepth = Number(attribute('val')) || 0;
    // List 0 means that the paragraph is in no list, whatever its style says.
    else if (name === 'numId') paragraph.listId = attribute('val') === '0' ? null : attribute('val');
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    const text = paragraph?.parts.join('').trim() ?? '';
    if (paragraph === undefined || text === '') return;
    const cell = this.#tables.at(-1)?.cell;
    if (cell !== undefined && cell !== null) cell.push(text);
    else this.#write(paragraph, text);
  }

  #write(paragraph: Paragraph, text: string): void {
    const { styleId, listId, listDepth: depth } = paragraph;
    const isTitle = this.#styles.isTitle(styleId);
    if (isTitle) this.title ??= text;
    const level = isTitle ? 1 : (paragraph.outlineLevel ?? this.#styles.headingLevel(styleId));
    if (level !== null) this.#writer.heading(level, text);
    else if (listId !== null) this.#writer.listItem(text, { depth, number: this.#numberOf(listId, depth) });
    else this.#writer.paragraph(text);
  }

  /** Null for bullets. Deeper levels restart below each item. */
  #numberOf(listId: string, depth: number): number | null {
    if (!this.#numbering.isNumbered({ listId, depth })) return null;
    const counts = this.#counts.get(listId) ?? [];
    if (this.#counts.size < 10_000) this.#counts.set(listId, counts);
    const level = Math.min(Math.max(depth, 0), 8);
    counts.length = Math.min(counts.length, level + 1);
    counts[level] = (counts[level] ?? 0) + 1;
    return counts[level] ?? 1;
  }

  #beginTable(): void {
    if (this.#tables.length === 0) this.#writer.beginTable();
    this.#tables.push({ cells: [], cell: null });
  }

  #withTable(act: (table: Table) => void): void {
    const table = this.#tables.at(-1);
    if (table !== undefined) act(table);
  }

  /** A row of a nested table becomes a part of the outer cell. */
  #endRow(table: Table): void {
    const outer = this.#tables.at(-2);
    if (outer === undefined) this.#writer.tableRow(table.cells);
    else outer.cell?.push(table.cells.join(', '));
    table.cells = [];
  }
}

function endCell(table: Table): void {
  table.cells.push(table.cell?.join('\n') ?? '');
  table.cell = null;
}

function newParagraph(): Paragraph {
  return { parts: [], styleId: null, outlineLevel: null, listId: null, listDepth: 0 };
}
