import type { XmlAttributes, XmlEvents } from '../../../../lib/formats/xml.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { readCore } from './core.ts';
import { OfficeParts } from './parts.ts';

/** Slides in the order of their numbers, each with its title as a heading, its tables and its notes. */
export async function readPptx(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const parts = await OfficeParts.open(bytes, options);
  try {
    const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
    const slides = parts.names
      .flatMap((name) => {
        const number = /^ppt\/slides\/slide(\d{1,6})\.xml$/i.exec(name)?.[1];
        return number === undefined ? [] : [{ name, number: Number(number) }];
      })
      .toSorted((one, other) => one.number - other.number);
    const pageStarts: number[] = [];
    for (const { name, number } of slides) {
      while (pageStarts.length < number) pageStarts.push(writer.position);
      await parts.read(name, new SlideText(writer, { isNotes: false }));
      const notes = await findNotes(parts, number);
      if (notes !== null) await parts.read(notes, new SlideText(writer, { isNotes: true }));
    }
    return { ...(await readCore(parts)), text: writer.toString(), notes: [], pageStarts };
  } finally {
    parts.close();
  }
}

async function findNotes(parts: OfficeParts, slide: number): Promise<string | null> {
  let found: string | null = null;
  await parts.read(`ppt/slides/_rels/slide${slide}.xml.rels`, {
    open: (name, attribute) => {
      if (name !== 'Relationship' || !attribute('Type')?.endsWith('/notesSlide')) return;
      found = (attribute('Target') ?? '').replace(/^\.\.\//, 'ppt/').replace(/^\/+/, '');
    },
    close: () => {},
  });
  return found;
}

const titles = new Set(['title', 'ctrTitle']);
/** What each slide repeats, and on a page of notes the picture of the slide. */
const left = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);

class SlideText implements XmlEvents {
  readonly #writer: MarkdownWriter;
  readonly #isNotes: boolean;
  #shape = '';
  #paragraph: string[] | null = null;
  #isText = false;
  #row: string[] | null = null;
  #cell: string[] | null = null;

  constructor(writer: MarkdownWriter, { isNotes }: { isNotes: boolean }) {
    this.#writer = writer;
    this.#isNotes = isNotes;
  }

  open(name: string, attribute: XmlAttributes): void {
    if (name === 'sp') this.#shape = '';
    else if (name === 'ph') this.#shape = attribute('type') ?? '';
    else if (name === 'p') this.#paragraph = [];
    else if (name === 't') this.#isText = true;
    else if (name === 'br') this.#paragraph?.push('\n');
    else if (name === 'tbl') this.#writer.beginTable();
    else if (name === 'tr') this.#row = [];
    else if (name === 'tc') this.#cell = [];
  }

  close(name: string): void {
    if (name === 't') this.#isText = false;
    else if (name === 'p') this.#endParagraph();
    else if (name === 'tc') {
      this.#row?.push(this.#cell?.join(' ') ?? '');
      this.#cell = null;
    } else if (name === 'tr') {
      if (this.#row !== null) this.#writer.tableRow(this.#row);
      this.#row = null;
    }
  }

  text(text: string): void {
    if (this.#isText) this.#paragraph?.push(text);
  }

  #endParagraph(): void {
    const text = this.#paragraph?.join('') ?? '';
    this.#paragraph = null;
    if (text.trim() === '' || left.has(this.#shape)) return;
    if (this.#cell !== null) this.#cell.push(text);
    else if (!this.#isNotes && titles.has(this.#shape)) this.#writer.heading(2, text);
    else this.#writer.paragraph(text);
  }
}
