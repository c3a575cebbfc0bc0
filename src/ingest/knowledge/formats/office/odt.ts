import type { XmlAttributes, XmlEvents } from '../../../../lib/formats/xml.ts';
import { leftOutNotes } from '../left-out.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { readCore } from './core.ts';
import { OfficeParts } from './parts.ts';

/** Headings, lists, tables and notes of an OpenDocument text. */
export async function readOdt(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const parts = await OfficeParts.open(bytes, options);
  try {
    const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
    const body = new OdtBody(writer);
    await parts.readNeeded('content.xml', body);
    const margins: string[] = [];
    await parts.read('styles.xml', marginTexts(margins));
    const notes = leftOutNotes({ hasComments: body.hasComments, margins });
    return { ...(await readCore(parts, 'meta.xml')), text: writer.toString(), notes };
  } finally {
    parts.close();
  }
}

/** Deleted text, comments, the numbers of notes, and what programs show in place of a picture. */
const skipped = new Set(['tracked-changes', 'annotation', 'note-citation', 'desc', 'title', 'forms']);
const maxSpaces = 100;

/** Collects the texts of headers and footers, which belong to the styles of pages. */
function marginTexts(into: string[]): XmlEvents {
  let depth = 0;
  return {
    open: (name) => {
      if (depth > 0) depth += 1;
      else if (/^(?:header|footer)(?:-left|-first)?$/.test(name)) {
        depth = 1;
        into.push('');
      }
    },
    close: () => {
      depth = Math.max(0, depth - 1);
    },
    text: (text) => {
      if (depth > 0) into.push(`${into.pop()}${text}`);
    },
  };
}

interface Paragraph {
  parts: string[];
  level: number | null;
}

class OdtBody implements XmlEvents {
  hasComments = false;
  readonly #writer: MarkdownWriter;
  /** Text boxes and notes are paragraphs inside a paragraph. */
  readonly #paragraphs: Paragraph[] = [];
  readonly #rows: { cells: string[]; cell: string[] | null }[] = [];
  #lists = 0;
  #skipDepth = 0;

  constructor(writer: MarkdownWriter) {
    this.#writer = writer;
  }

  open(name: string, attribute: XmlAttributes): void {
    if (name === 'annotation') this.hasComments = true;
    if (this.#skipDepth > 0 || skipped.has(name)) {
      this.#skipDepth += 1;
      return;
    }
    const current = this.#paragraphs.at(-1);
    if (name === 'p') this.#paragraphs.push({ parts: [], level: null });
    else if (name === 'h') {
      this.#paragraphs.push({ parts: [], level: Number(attribute('outline-level')) || 1 });
    } else if (name === 's') current?.parts.push(' '.repeat(spacesOf(attribute('c'))));
    else if (name === 'tab') current?.parts.push('\t');
    else if (name === 'line-break') current?.parts.push('\n');
    else if (name === 'list') this.#lists += 1;
    else if (name === 'table' && this.#rows.length === 0) this.#writer.beginTable();
    else if (name === 'table-row') this.#rows.push({ cells: [], cell: null });
    else if (name === 'table-cell') this.#withRow((row) => Object.assign(row, { cell: [] }));
  }

  close(name: string): void {
    if (this.#skipDepth > 0) {
      this.#skipDepth -= 1;
      return;
    }
    if (name === 'p' || name === 'h') this.#endParagraph();
    else if (name === 'list') this.#lists -= 1;
    else if (name === 'table-cell') {
      this.#withRow((row) => {
        row.cells.push(row.cell?.join(' ') ?? '');
        row.cell = null;
      });
    } else if (name === 'table-row') this.#endRow();
  }

  text(text: string): void {
    if (this.#skipDepth === 0) this.#paragraphs.at(-1)?.parts.push(text);
  }

  #withRow(act: (row: { cells: string[]; cell: string[] | null }) => void): void {
    const row = this.#rows.at(-1);
    if (row !== undefined) act(row);
  }

  #endRow(): void {
    const row = this.#rows.pop();
    const outer = this.#rows.at(-1)?.cell;
    if (row === undefined) return;
    if (outer !== undefined && outer !== null) outer.push(row.cells.join(', '));
    else this.#writer.tableRow(row.cells);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    const text = paragraph?.parts.join('') ?? '';
    if (paragraph === undefined || text.trim() === '') return;
    const cell = this.#rows.at(-1)?.cell;
    if (cell !== undefined && cell !== null) cell.push(text);
    else if (paragraph.level !== null) this.#writer.heading(paragraph.level, text);
    else if (this.#lists > 0) this.#writer.listItem(text, { depth: this.#lists - 1, number: null });
    else this.#writer.paragraph(text);
  }
}

function spacesOf(count: string | null): number {
  return Math.min(maxSpaces, Math.max(1, Number(count) || 1));
}
