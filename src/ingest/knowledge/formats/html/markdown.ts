import type { MarkdownWriter } from '../markdown-writer.ts';

/** The part of the DOM that is used here: servers do not include the types of lib.dom. */
export interface HtmlNode {
  nodeType: number;
  nodeValue: string | null;
  childNodes: Iterable<HtmlNode>;
}

export interface HtmlElement extends HtmlNode {
  localName: string;
  textContent: string | null;
  getAttribute(name: string): string | null;
}

/** Whether it is a whole page and not a fragment. */
export function isPage(html: string): boolean {
  return /<(?:html|body|head)\b/i.test(html.slice(0, 64 * 1024));
}

/** Writes an element as blocks of Markdown. Below `maxDepth` only the text is written. */
export function writeHtml(element: HtmlElement, writer: MarkdownWriter): void {
  new HtmlWriter(writer).blocks(element, { depth: 0, list: null });
}

const maxDepth = 400;

const unread = new Set(
  (
    'script style noscript template svg math iframe object embed canvas audio video head link meta title ' +
    'nav button select input textarea dialog'
  ).split(' '),
);

const blocks = new Set(
  (
    'address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer ' +
    'form h1 h2 h3 h4 h5 h6 header hgroup hr html li main menu ol p pre search section summary table tbody td ' +
    'tfoot th thead tr ul'
  ).split(' '),
);

interface Place {
  depth: number;
  list: ListPlace | null;
}

interface ListPlace {
  depth: number;
  /** Null for bullets. */
  next: number | null;
}

class HtmlWriter {
  readonly #writer: MarkdownWriter;
  /** Inline text that is not in a block yet. */
  #inline: string[] = [];

  constructor(writer: MarkdownWriter) {
    this.#writer = writer;
  }

  blocks(element: HtmlElement, place: Place): void {
    if (place.depth > maxDepth) {
      this.#inline.push(element.textContent ?? '');
      return;
    }
    for (const child of element.childNodes) this.#node(child, place);
    if (place.depth === 0) this.#flush();
  }

  #node(node: HtmlNode, place: Place): void {
    if (node.nodeType === 3) this.#inline.push((node.nodeValue ?? '').replace(/\s+/g, ' '));
    if (node.nodeType !== 1) return;
    const element = node as HtmlElement;
    const name = element.localName.toLowerCase();
    if (unread.has(name) || isHidden(element)) return;
    if (name === 'br') this.#inline.push('\n');
    else if (name === 'img') this.#inline.push(` ${element.getAttribute('alt') ?? ''} `);
    else if (blocks.has(name)) this.#block(element, name, place);
    else this.blocks(element, { ...place, depth: place.depth + 1 });
  }

  #block(element: HtmlElement, name: string, place: Place): void {
    this.#flush();
    const inner = { ...place, depth: place.depth + 1 };
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.#writer.heading(Number(level), wordsOf(element));
    else if (name === 'pre') this.#writer.code(codeOf(element));
    else if (name === 'table') this.#table(element, inner);
    else if (name === 'ul' || name === 'ol' || name === 'menu') this.#list(element, name, inner);
    else if (name === 'li') this.#item(element, inner);
    else if (name === 'blockquote') this.#quote(element, inner);
    else {
      this.blocks(element, inner);
      this.#flush();
    }
  }

  #flush(): void {
    if (this.#inline.length === 0) return;
    const text = this.#inline.join('');
    this.#inline = [];
    this.#writer.paragraph(text);
  }

  #list(element: HtmlElement, name: string, place: Place): void {
    const start = Number.parseInt(element.getAttribute('start') ?? '1', 10);
    const next = name === 'ol' ? (Number.isSafeInteger(start) ? start : 1) : null;
    this.blocks(element, { ...place, list: { depth: (place.list?.depth ?? -1) + 1, next } });
    this.#flush();
  }

  /** Writes the text of the item, then nested lists and tables. */
  #item(element: HtmlElement, place: Place): void {
    const list = place.list ?? { depth: 0, next: null };
    const later: HtmlNode[] = [];
    const own: string[] = [];
    for (const child of element.childNodes) {
      if (isNested(child)) later.push(child);
      else own.push(wordsOf(child));
    }
    this.#writer.listItem(own.join(''), { depth: list.depth, number: list.next });
    if (list.next !== null) list.next += 1;
    for (const child of later) this.#node(child, place);
    this.#flush();
  }

  /** A quotation with headings or lists is written as its contents, others as a quote. */
  #quote(element: HtmlElement, place: Place): void {
    if (hasNested(element, 0)) this.blocks(element, place);
    else this.#writer.quote(wordsOf(element));
    this.#flush();
  }

  /** A table with blocks in its cells was made for layout: it is written cell by cell. */
  #table(element: HtmlElement, place: Place): void {
    this.#writer.beginTable();
    const rows = rowsOf(element, 0);
    if (rows.some((row) => row.some((cell) => hasNested(cell, 0)))) {
      for (const cell of rows.flat()) {
        this.blocks(cell, place);
        this.#flush();
      }
      return;
    }
    for (const row of rows) this.#writer.tableRow(row.map(wordsOf));
  }
}

const nested = new Set('ul ol menu table pre blockquote h1 h2 h3 h4 h5 h6'.split(' '));

function isNested(node: HtmlNode): boolean {
  return node.nodeType === 1 && (nested.has((node as HtmlElement).localName) || hasNested(node, 0));
}

function hasNested(node: HtmlNode, depth: number): boolean {
  if (depth > maxDepth) return false;
  for (const child of node.childNodes) {
    if (child.nodeType !== 1) continue;
    if (nested.has((child as HtmlElement).localName) || hasNested(child, depth + 1)) return true;
  }
  return false;
}

/** The rows of a table, without those of nested tables. */
function rowsOf(node: HtmlNode, depth: number): HtmlElement[][] {
  const rows: HtmlElement[][] = [];
  for (const child of elementsOf(node)) {
    if (child.localName === 'tr') rows.push(elementsOf(child).filter(isCell));
    else if (child.localName === 'caption') rows.push([child]);
    else if (depth < 3 && child.localName !== 'td') rows.push(...rowsOf(child, depth + 1));
  }
  return rows;
}

function elementsOf(node: HtmlNode): HtmlElement[] {
  return [...node.childNodes].filter((child): child is HtmlElement => child.nodeType === 1);
}

function isCell(element: HtmlElement): boolean {
  return element.localName === 'td' || element.localName === 'th';
}

function isHidden(element: HtmlElement): boolean {
  return element.getAttribute('hidden') !== null || element.getAttribute('aria-hidden') === 'true';
}

/** The text of an element, one line per block. */
function wordsOf(node: HtmlNode): string {
  const parts: string[] = [];
  collectWords(node, { parts, depth: 0 });
  return parts.join('');
}

function collectWords(node: HtmlNode, into: { parts: string[]; depth: number }): void {
  if (node.nodeType === 3) into.parts.push((node.nodeValue ?? '').replace(/\s+/g, ' '));
  if (node.nodeType !== 1 || into.depth > maxDepth * 2) return;
  const element = node as HtmlElement;
  const name = element.localName;
  if (unread.has(name) || isHidden(element)) return;
  if (name === 'br') into.parts.push('\n');
  if (name === 'img') into.parts.push(` ${element.getAttribute('alt') ?? ''} `);
  const isBlock = blocks.has(name);
  if (isBlock) into.parts.push('\n');
  for (const child of element.childNodes) {
    collectWords(child, { parts: into.parts, depth: into.depth + 1 });
  }
  if (isBlock) into.parts.push('\n');
}

/** The text with all its white space. */
function codeOf(element: HtmlElement): string {
  const parts: string[] = [];
  const walk = (node: HtmlNode, depth: number): void => {
    if (node.nodeType === 3) parts.push(node.nodeValue ?? '');
    if (node.nodeType !== 1 || depth > maxDepth) return;
    if ((node as HtmlElement).localName === 'br') parts.push('\n');
    for (const child of node.childNodes) walk(child, depth + 1);
  };
  walk(element, 0);
  return parts.join('');
}
