import { decodeWindows1252 } from '../../../../lib/formats/windows-1252.ts';
import { documentErrors } from '../errors.ts';
import { leftOutNotes } from '../left-out.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import { Properties } from '../properties.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { type RtfToken, readTokens } from './tokens.ts';

/** RTF as Word, WordPad, LibreOffice and macOS write it: paragraphs, headings, tables, links, footnotes. */
export function readRtf(bytes: Buffer, options: ConvertOptions): Converted {
  if (!/^\s*\{\\rtf/.test(bytes.toString('latin1', 0, 64))) {
    throw documentErrors.raise.document_is_broken('The file does not start like an RTF document');
  }
  const reader = new RtfReader(new MarkdownWriter({ maxUnits: options.limits.maxTextUnits }));
  let sinceProgress = 0;
  for (const token of readTokens(bytes)) {
    reader.take(token);
    sinceProgress += 1;
    if (sinceProgress < 50_000) continue;
    options.onProgress();
    sinceProgress = 0;
  }
  return reader.finish();
}

/** Parts of the file that are no text of the document. */
const skipped = new Set([
  'colortbl',
  'pict',
  'object',
  'ftnsep',
  'ftnsepc',
  'pntext',
  'listtext',
  'fldinst',
  'datafield',
  'xe',
  'tc',
  'private',
  'listtable',
  'listoverridetable',
  'rsidtbl',
  'generator',
  'xmlnstbl',
  'themedata',
  'colorschememapping',
  'latentstyles',
  'datastore',
  'filetbl',
  'revtbl',
  'bkmkstart',
  'bkmkend',
  'nonshppict',
  'template',
  'annotation',
  'atnid',
  'atnauthor',
  'passwordhash',
]);
const margin = /^(?:header|footer)[lrf]?$/;
/** Text after a star of these is shown all the same. */
const shownStarred = new Set(['shptxt', 'shpinst', 'footnote']);
const properties: Record<string, string> = {
  title: 'title',
  author: 'author',
  subject: 'subject',
  keywords: 'keywords',
  doccomm: 'description',
  category: 'category',
};
const symbols: Record<string, string> = {
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
  emspace: ' ',
  enspace: ' ',
  qmspace: ' ',
  tab: ' ',
  '~': ' ',
  _: '-',
  line: '\n',
  softline: '\n',
};
const charsets: Record<number, string> = {
  77: 'macintosh',
  128: 'shift_jis',
  129: 'euc-kr',
  134: 'gbk',
  136: 'big5',
  161: 'windows-1253',
  162: 'windows-1254',
  163: 'windows-1258',
  177: 'windows-1255',
  178: 'windows-1256',
  186: 'windows-1257',
  204: 'windows-1251',
  222: 'windows-874',
  238: 'windows-1250',
};
const pages: Record<number, string> = {
  437: 'ibm866',
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  65001: 'utf-8',
};

type Target = 'text' | 'fonts' | 'styles' | 'property' | 'margin' | 'none';

interface State {
  target: Target;
  property: string;
  charset: string;
  /** How many characters stand for one `\u` in programs that do not know it. */
  fallbacks: number;
  isHidden: boolean;
}

const maxDepth = 10_000;

class RtfReader {
  readonly #writer: MarkdownWriter;
  readonly #stack: State[] = [];
  #state: State = { target: 'text', property: '', charset: 'windows-1252', fallbacks: 1, isHidden: false };
  #documentCharset = 'windows-1252';
  readonly #fonts = new Map<number, string>();
  #font = 0;
  /** Styles by number, with the level of those that are headings. */
  readonly #headings = new Map<number, number>();
  #style = 0;
  #styleName = '';
  #level: number | null = null;
  #isStarred = false;
  #skipNext = 0;
  #bytes: number[] = [];
  #text = '';
  #cells: string[] = [];
  #isInTable = false;
  #wasInTable = false;
  readonly #found: Record<string, string> = {};
  readonly #margins: string[] = [];
  #hasComments = false;

  constructor(writer: MarkdownWriter) {
    this.#writer = writer;
  }

  take(token: RtfToken): void {
    if (token.kind === 'open') this.#open();
    else if (token.kind === 'close') this.#close();
    else if (token.kind === 'word') this.#word(token.name, token.value);
    else if (token.kind === 'byte') this.#byte(token.byte);
    else this.#plain(token.bytes);
  }

  finish(): Converted {
    this.#endParagraph();
    if (this.#cells.length > 0) this.#endRow();
    const fields = new Properties();
    const { title = '', ...others } = this.#found;
    for (const [name, value] of Object.entries(others)) fields.add(name, value);
    const shown = title.replace(/\s+/g, ' ').trim();
    return {
      title: shown === '' ? null : shown,
      text: this.#writer.toString(),
      notes: leftOutNotes({ hasComments: this.#hasComments, margins: this.#margins }),
      metadata: fields.fields,
    };
  }

  #open(): void {
    this.#flush();
    if (this.#stack.length > maxDepth)
      throw documentErrors.raise.document_is_broken('Its groups are nested too deep');
    this.#stack.push({ ...this.#state });
    this.#isStarred = false;
  }

  #close(): void {
    this.#flush();
    if (this.#state.target === 'styles' && this.#stack.at(-1)?.target === 'styles') this.#endStyle();
    this.#state = this.#stack.pop() ?? this.#state;
    this.#isStarred = false;
  }

  #word(name: string, value: number | null): void {
    if (name === '*') {
      this.#isStarred = true;
      return;
    }
    if (name === 'u') {
      this.#unicode(value ?? 0);
      return;
    }
    const isUnknown = this.#isStarred && !shownStarred.has(name);
    this.#isStarred = false;
    this.#flush();
    if (name === 'annotation') this.#hasComments = true;
    if (isUnknown || skipped.has(name)) this.#state.target = 'none';
    else if (margin.test(name) && this.#state.target === 'text') this.#beginMargin();
    else if (this.#state.target !== 'none' && !this.#setting(name, value)) this.#structure(name, value);
  }

  /** What changes how the following is read; false if the word is something else. */
  #setting(name: string, value: number | null): boolean {
    const state = this.#state;
    if (name === 'fonttbl') state.target = 'fonts';
    else if (name === 'stylesheet') state.target = 'styles';
    else if (name === 'info') state.target = 'property';
    else if (state.target === 'property' && name in properties) state.property = properties[name] ?? '';
    else if (name === 'ansicpg') this.#setDocumentCharset(pages[value ?? 0] ?? `windows-${value ?? 1252}`);
    else if (name === 'mac') this.#setDocumentCharset('macintosh');
    else if (name === 'uc') state.fallbacks = Math.max(0, Math.min(value ?? 1, 100));
    else if (name === 'f') this.#setFont(value ?? 0);
    else if (name === 'fcharset' && state.target === 'fonts') {
      this.#fonts.set(this.#font, charsets[value ?? 0] ?? this.#documentCharset);
    } else if (name === 'v') state.isHidden = value !== 0;
    else if (name === 'plain') Object.assign(state, { isHidden: false, charset: this.#documentCharset });
    else return false;
    return true;
  }

  #beginMargin(): void {
    this.#state.target = 'margin';
    this.#margins.push('');
  }

  #structure(name: string, value: number | null): void {
    if (this.#state.target === 'margin') return;
    if (name === 's') this.#style = value ?? 0;
    else if (name === 'outlinelevel') this.#level = (value ?? 9) < 9 ? (value ?? 0) + 1 : null;
    else if (this.#state.target === 'styles') return;
    else if (name === 'pard') this.#resetParagraph();
    else if (name === 'par' || name === 'sect' || name === 'page') this.#endParagraph();
    else if (name === 'intbl') this.#isInTable = true;
    else if (name === 'cell' || name === 'nestcell') this.#endCell();
    else if (name === 'row' || name === 'nestrow') this.#endRow();
    else if (name === 'footnote') this.#text += ' (';
    else if (name in symbols) this.#text += this.#shown(symbols[name] ?? '');
  }

  #resetParagraph(): void {
    this.#style = 0;
    this.#level = null;
    this.#isInTable = false;
  }

  #setDocumentCharset(charset: string): void {
    this.#documentCharset = charset;
    this.#state.charset = charset;
  }

  #setFont(font: number): void {
    this.#font = font;
    if (this.#state.target !== 'fonts') this.#state.charset = this.#fonts.get(font) ?? this.#documentCharset;
  }

  #unicode(value: number): void {
    this.#isStarred = false;
    this.#flush();
    this.#put(String.fromCharCode(value < 0 ? value + 65_536 : value));
    this.#skipNext = this.#state.fallbacks;
  }

  #byte(byte: number): void {
    if (this.#skipNext > 0) this.#skipNext -= 1;
    else this.#bytes.push(byte);
  }

  #plain(bytes: Buffer): void {
    const from = Math.min(this.#skipNext, bytes.length);
    this.#skipNext -= from;
    for (let at = from; at < bytes.length; at += 1) this.#bytes.push(bytes[at] ?? 0);
  }

  /** Bytes of one character may come as plain text and as hexadecimal. */
  #flush(): void {
    if (this.#bytes.length === 0) return;
    const bytes = Buffer.from(this.#bytes);
    this.#bytes = [];
    this.#put(decode(bytes, this.#state.charset));
  }

  #put(text: string): void {
    const { target, property } = this.#state;
    if (target === 'text') this.#text += this.#shown(text);
    else if (target === 'styles') this.#styleName += text;
    else if (target === 'margin') this.#margins.push(`${this.#margins.pop() ?? ''}${text}`);
    else if (target === 'property' && property !== '')
      this.#found[property] = (this.#found[property] ?? '') + text;
  }

  #shown(text: string): string {
    return this.#state.isHidden || this.#state.target !== 'text' ? '' : text;
  }

  #endStyle(): void {
    const level = /^heading (\d)/i.exec(this.#styleName.trim())?.[1];
    if (level !== undefined) this.#headings.set(this.#style, Number(level));
    this.#styleName = '';
  }

  #endParagraph(): void {
    this.#flush();
    if (this.#isInTable) {
      this.#text += '\n';
      return;
    }
    if (this.#cells.length > 0) this.#endRow();
    const level = this.#level ?? this.#headings.get(this.#style) ?? null;
    const text = this.#text;
    this.#text = '';
    if (text.trim() === '') return;
    this.#wasInTable = false;
    const item = /^\s*[•·▪◦]\s+([\s\S]*)$/.exec(text)?.[1];
    if (level !== null) this.#writer.heading(level, text);
    else if (item !== undefined) this.#writer.listItem(item, { depth: 0, number: null });
    else this.#writer.paragraph(text);
  }

  #endCell(): void {
    this.#flush();
    this.#cells.push(this.#text);
    this.#text = '';
  }

  #endRow(): void {
    this.#flush();
    if (this.#cells.length === 0) return;
    if (!this.#wasInTable) this.#writer.beginTable();
    this.#writer.tableRow(this.#cells);
    this.#wasInTable = true;
    this.#cells = [];
  }
}

function decode(bytes: Buffer, charset: string): string {
  if (charset === 'windows-1252') return decodeWindows1252(bytes);
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return decodeWindows1252(bytes);
  }
}
