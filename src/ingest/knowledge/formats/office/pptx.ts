import path from 'node:path/posix';
import type { XmlAttributes, XmlEvents } from '../../../../lib/formats/xml.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { readCore } from './core.ts';
import { OfficeParts } from './parts.ts';

/** Slides in the order in which they are shown, each with its title as a heading, its tables and its notes. */
export async function readPptx(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const parts = await OfficeParts.open(bytes, options);
  try {
    const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
    const pageStarts: number[] = [];
    const left: LeftOut = { comments: 0, charts: 0 };
    for (const slide of await listSlides(parts)) {
      pageStarts.push(writer.position);
      await parts.read(slide, new SlideText(writer, { isNotes: false }));
      for (const { type, target } of await listRelations(parts, slide)) {
        if (type === 'diagramData') await parts.read(target, new SlideText(writer, { isNotes: false }));
        else if (type === 'chart') left.charts += 1;
        else if (type === 'comments') left.comments += 1;
        else if (type === 'notesSlide') await parts.read(target, new SlideText(writer, { isNotes: true }));
      }
    }
    return { ...(await readCore(parts)), text: writer.toString(), notes: notesOn(left), pageStarts };
  } finally {
    parts.close();
  }
}

interface LeftOut {
  comments: number;
  charts: number;
}

function notesOn({ comments, charts }: LeftOut): string[] {
  return [
    ...(comments > 0 ? ['Comments on slides were left out.'] : []),
    ...(charts > 0 ? ['The texts in charts were left out.'] : []),
  ];
}

const main = 'ppt/presentation.xml';

/** As the presentation lists them. The numbers in their names are those of their creation, if it does not. */
async function listSlides(parts: OfficeParts): Promise<string[]> {
  const targets = new Map((await listRelations(parts, main)).map(({ id, target }) => [id, target]));
  const listed: string[] = [];
  await parts.read(main, {
    open: (name, attribute) => {
      const target = name === 'sldId' ? targets.get(attribute('r:id') ?? '') : undefined;
      if (target !== undefined) listed.push(target);
    },
    close: () => {},
  });
  return listed.length > 0 ? listed : numberedSlides(parts);
}

function numberedSlides({ names }: OfficeParts): string[] {
  return names
    .flatMap((name) => {
      const number = /^ppt\/slides\/slide(\d{1,6})\.xml$/i.exec(name)?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .toSorted((one, other) => one.number - other.number)
    .map(({ name }) => name);
}

interface Relation {
  id: string;
  /** The end of its address, such as `notesSlide`. */
  type: string;
  /** The name of a part. */
  target: string;
}

async function listRelations(parts: OfficeParts, part: string): Promise<Relation[]> {
  const { dir, base } = path.parse(part);
  const found: Relation[] = [];
  await parts.read(`${dir}/_rels/${base}.rels`, {
    open: (name, attribute) => {
      if (name !== 'Relationship' || attribute('TargetMode') === 'External') return;
      const [id, type, target] = ['Id', 'Type', 'Target'].map((key) => attribute(key) ?? '') as [
        string,
        string,
        string,
      ];
      const place = target.startsWith('/') ? target.slice(1) : path.join(dir, target);
      found.push({ id, type: type.slice(type.lastIndexOf('/') + 1), target: place });
    },
    close: () => {},
  });
  return found;
}

const titles = new Set(['title', 'ctrTitle']);
/** What each slide repeats, and on a page of notes the picture of the slide. */
const repeated = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);

class SlideText implements XmlEvents {
  readonly #writer: MarkdownWriter;
  readonly #isNotes: boolean;
  #shape = '';
  #paragraph: string[] | null = null;
  #isText = false;
  #row: string[] | null = null;
  #cell: string[] | null = null;
  /** Within the picture of what older programs cannot show. */
  #skipDepth = 0;

  constructor(writer: MarkdownWriter, { isNotes }: { isNotes: boolean }) {
    this.#writer = writer;
    this.#isNotes = isNotes;
  }

  open(name: string, attribute: XmlAttributes): void {
    if (this.#skipDepth > 0 || name === 'Fallback') this.#skipDepth += 1;
    else if (name === 'sp') this.#shape = '';
    else if (name === 'ph') this.#shape = attribute('type') ?? '';
    else if (name === 'p') this.#paragraph = [];
    else if (name === 't') this.#isText = true;
    else if (name === 'br') this.#paragraph?.push('\n');
    else if (name === 'tbl') this.#writer.beginTable();
    else if (name === 'tr') this.#row = [];
    else if (name === 'tc') this.#cell = [];
  }

  close(name: string): void {
    if (this.#skipDepth > 0) this.#skipDepth -= 1;
    else if (name === 't') this.#isText = false;
    else if (name === 'sp') this.#shape = '';
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
    if (this.#isText && this.#skipDepth === 0) this.#paragraph?.push(text);
  }

  #endParagraph(): void {
    const text = this.#paragraph?.join('') ?? '';
    this.#paragraph = null;
    if (text.trim() === '' || repeated.has(this.#shape)) return;
    if (this.#cell !== null) this.#cell.push(text);
    else if (!this.#isNotes && titles.has(this.#shape)) this.#writer.heading(2, text);
    else this.#writer.paragraph(text);
  }
}
