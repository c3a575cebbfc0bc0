import path from 'node:path/posix';
import { parseHTML } from 'linkedom';
import { documentErrors } from '../errors.ts';
import { writeHtml } from '../html/markdown.ts';
import { MarkdownWriter } from '../markdown-writer.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { readCore } from './core.ts';
import { OfficeParts } from './parts.ts';

/** The chapters of a book in reading order; its table of contents is left out. */
export async function readEpub(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const parts = await OfficeParts.open(bytes, options);
  try {
    const packageName = await findPackage(parts);
    const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
    const missing: string[] = [];
    for (const chapter of await listChapters(parts, packageName)) {
      const content = await parts.bytesOf(chapter);
      if (content === null) missing.push(chapter.slice(0, 100));
      else writeChapter(content.toString('utf8'), writer);
    }
    const named = missing.slice(0, 10).join(', ');
    const notes =
      missing.length > 0 ? [`Chapters that the book does not contain were left out: ${named}.`] : [];
    return { ...(await readCore(parts, packageName)), text: writer.toString(), notes };
  } finally {
    parts.close();
  }
}

async function findPackage(parts: OfficeParts): Promise<string> {
  let found = '';
  await parts.readNeeded('META-INF/container.xml', {
    open: (name, attribute) => {
      if (name === 'rootfile') found ||= attribute('full-path') ?? '';
    },
    close: () => {},
  });
  if (found === '') throw documentErrors.raise.document_is_broken('The book does not name its package');
  return found;
}

async function listChapters(parts: OfficeParts, packageName: string): Promise<string[]> {
  const items = new Map<string, string>();
  const order: string[] = [];
  await parts.readNeeded(packageName, {
    open: (name, attribute) => {
      const isContents = attribute('properties')?.split(' ').includes('nav');
      if (name === 'item' && !isContents) items.set(attribute('id') ?? '', attribute('href') ?? '');
      if (name === 'itemref') order.push(attribute('idref') ?? '');
    },
    close: () => {},
  });
  const folder = path.dirname(packageName);
  return order.flatMap((id) => {
    const href = items.get(id);
    return href === undefined ? [] : [path.normalize(path.join(folder, decoded(href)))];
  });
}

function decoded(href: string): string {
  try {
    return decodeURIComponent(href.split('#')[0] ?? '');
  } catch {
    return href;
  }
}

function writeChapter(xhtml: string, writer: MarkdownWriter): void {
  const { document } = parseHTML(xhtml.replace(/^\ufeff?\s*<\?xml[^>]{0,200}\?>/, ''));
  const body = document.querySelector('body') ?? document.documentElement;
  if (body !== null) writeHtml(body, writer);
}
