import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { decodeText } from '../decode-text.ts';
import { documentErrors } from '../errors.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import { Properties } from '../properties.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { type HtmlElement, isPage, writeHtml } from './markdown.ts';

/**
 * Converts the main text of a page to Markdown. Menus and footers are left out if Readability is sure about the main
 * text; otherwise the whole page is used, because a missing paragraph is worse than a menu.
 */
export function readHtml(bytes: Buffer, options: ConvertOptions): Converted {
  const notes: string[] = [];
  const declared = options.charset ?? declaredCharset(bytes);
  const html = decodeText(bytes, { declared, notes });
  options.onProgress();
  try {
    const { isWhole, ...converted } = convert(html, options);
    if (isWhole)
      notes.push('The main text of the page was not found; the whole page was read, menus included.');
    return { ...converted, notes };
  } catch (error) {
    // Elements that are nested thousands deep exhaust the stack.
    if (!(error instanceof RangeError)) throw error;
    throw documentErrors.raise.html_is_broken('The elements of the page are nested too deeply', {
      cause: error,
    });
  }
}

/** `isWhole`: a page of which no part stands out as its main text. */
function convert(html: string, options: ConvertOptions): Omit<Converted, 'notes'> & { isWhole: boolean } {
  const { limits, onProgress } = options;
  const document = parse(html);
  const title = titleOf(document);
  const metadata = metadataOf(document);
  const whole = write(document.body ?? document.documentElement, limits.maxTextUnits);
  const marked = write(document.querySelector('main, [role="main"]'), limits.maxTextUnits);
  onProgress();
  // Readability changes the document, so everything else is read first.
  const main = isPage(html) ? findMainText(document, { options, wholeUnits: whole.length }) : null;
  const isMarked = isMostOf(whole, marked);
  const text = main ?? (isMarked ? marked : whole);
  const isWhole = isPage(html) && main === null && !isMarked && whole.length >= fewUnits;
  return { title: title ?? firstHeading(text), text: withTitle(text, title), metadata, isWhole };
}

function write(element: HtmlElement | null, maxUnits: number): string {
  const writer = new MarkdownWriter({ maxUnits });
  if (element !== null) writeHtml(element, writer);
  return writer.toString();
}

/** Wraps fragments in a page; also pages that turn out to have no elements. */
function parse(html: string) {
  const { document } = parseHTML(isPage(html) ? html : pageAround(html));
  return document.documentElement === null ? parseHTML(pageAround('')).document : document;
}

function pageAround(fragment: string): string {
  return `<!doctype html><html><body>${fragment}</body></html>`;
}

/** The result of Readability is used if it is a good part of the page; of short pages it often takes one paragraph. */
const fewUnits = 400;
const leastShare = 0.25;

/** The marked main part of a page is used on the same terms, if Readability is not sure. */
function isMostOf(whole: string, marked: string): boolean {
  return marked !== '' && (whole.length < fewUnits || marked.length >= whole.length * leastShare);
}

function findMainText(
  document: ReturnType<typeof parse>,
  { options, wholeUnits }: { options: ConvertOptions; wholeUnits: number },
): string | null {
  const { maxHtmlElements, maxTextUnits } = options.limits;
  if (wholeUnits < fewUnits || isTooMuch(document.querySelectorAll('*'), maxHtmlElements)) return null;
  try {
    const reader = new Readability<HtmlElement>(document, {
      disableJSONLD: true,
      serializer: (node) => node as unknown as HtmlElement,
    });
    const main = write(reader.parse()?.content ?? null, maxTextUnits);
    return main.length >= Math.max(fewUnits / 2, wholeUnits * leastShare) ? main : null;
  } catch (error) {
    // It expects pages repaired by a browser; pages on which it fails are used whole.
    if (error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

/** Readability takes cubic time in the depth: 1,000 nested lists take 90 s, 100 take 0.2 s. */
const maxDepth = 100;

function isTooMuch(elements: Iterable<ChildElement>, maxElements: number): boolean {
  const depths = new Map<unknown, number>();
  for (const element of elements) {
    const depth = (depths.get(element.parentElement) ?? 0) + 1;
    depths.set(element, depth);
    if (depth > maxDepth || depths.size > maxElements) return true;
  }
  return false;
}

interface ChildElement {
  parentElement: unknown;
}

function titleOf(document: { title: string }): string | null {
  const title = document.title.replace(/\s+/g, ' ').trim();
  return title === '' ? null : title;
}

const maxMetaElements = 500;

function metadataOf(document: ReturnType<typeof parse>): Record<string, unknown> {
  const properties = new Properties();
  const elements = [...document.querySelectorAll('meta[content]')].slice(0, maxMetaElements);
  for (const element of elements) {
    const name = element.getAttribute('name') ?? element.getAttribute('property') ?? '';
    properties.add(name, element.getAttribute('content'));
  }
  properties.add('language', document.documentElement?.getAttribute('lang'));
  return properties.fields;
}

function firstHeading(text: string): string | null {
  return /^#{1,6} (.+)$/m.exec(text.slice(0, 16 * 1024))?.[1] ?? null;
}

/** Readability removes a heading that equals the title; the sections below it need it again. */
function withTitle(text: string, title: string | null): string {
  if (title === null || text === '' || /^# /m.test(text)) return text;
  return `# ${title}\n\n${text}`;
}

/** Pages declare it at their start, in ASCII. */
function declaredCharset(bytes: Buffer): string | null {
  const head = bytes.toString('latin1', 0, 2048);
  return /<meta[^>]{0,200}charset\s{0,5}=\s{0,5}["']?([A-Za-z0-9_:.-]{1,40})/i.exec(head)?.[1] ?? null;
}
