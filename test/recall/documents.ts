import { docxDocument, paragraph, styled } from '../generators/docx-document.ts';
import { pdfDocument } from '../generators/pdf-document.ts';

export const formats = ['md', 'txt', 'html', 'pdf', 'docx', 'vtt'] as const;
export type Format = (typeof formats)[number];

export interface Section {
  title: string;
  paragraphs: string[];
}

export interface Document {
  title: string;
  sections: readonly Section[];
}

/** The same content, as people would have it in a file of that format. */
export function write(document: Document, format: Format): Buffer {
  return writers[format](document);
}

const writers: Record<Format, (document: Document) => Buffer> = {
  md: ({ title, sections }) =>
    Buffer.from(
      `${[`# ${title}`, ...sections.flatMap((each) => [`## ${each.title}`, ...each.paragraphs])].join('\n\n')}\n`,
    ),
  txt: ({ title, sections }) =>
    Buffer.from(
      `${[title, ...sections.flatMap(({ paragraphs }) => paragraphs.map(wrapped))].join('\n\n')}\n`,
    ),
  html: writeHtml,
  pdf: writePdf,
  docx: writeDocx,
  vtt: writeCaptions,
};

function writeHtml({ title, sections }: Document): Buffer {
  const body = sections.flatMap((each) => [
    `<h2>${escaped(each.title)}</h2>`,
    ...each.paragraphs.map((text) => `<p>${escaped(text)}</p>`),
  ]);
  const head = `<head><meta charset="utf-8"><title>${escaped(title)}</title></head>`;
  const article = [`<h1>${escaped(title)}</h1>`, ...body].join('\n');
  return Buffer.from(
    `<!doctype html><html lang="en">${head}<body><main><article>${article}</article></main></body></html>`,
  );
}

function writePdf({ title, sections }: Document): Buffer {
  const pages = sections.map((each, at) => [
    ...(at === 0 ? [{ text: title, size: 20 }] : []),
    { text: each.title, size: 15 },
    ...each.paragraphs.flatMap((text) => wrapped(text).split('\n')),
  ]);
  return pdfDocument({ pages, title, isCompressed: true });
}

function writeDocx({ title, sections }: Document): Buffer {
  const styles = [1, 2]
    .map((level) => `<w:style w:styleId="Heading${level}"><w:name w:val="heading ${level}"/></w:style>`)
    .join('');
  const body = sections.flatMap((each) => [
    paragraph(each.title, styled('Heading2')),
    ...each.paragraphs.map((text) => paragraph(text)),
  ]);
  return docxDocument({ title, styles, body: [paragraph(title, styled('Heading1')), ...body].join('') });
}

/** Spoken: a cue for every line, without headings. */
function writeCaptions({ sections }: Document): Buffer {
  const lines = sections.flatMap(({ paragraphs }) => paragraphs.flatMap((text) => wrapped(text).split('\n')));
  const cues = lines.map((line, at) => `${timeOf(at * 4)} --> ${timeOf(at * 4 + 4)}\n${line}`);
  return Buffer.from(`WEBVTT\n\n${cues.join('\n\n')}\n`);
}

function timeOf(seconds: number): string {
  const part = (value: number) => String(value).padStart(2, '0');
  return `${part(Math.floor(seconds / 3_600))}:${part(Math.floor(seconds / 60) % 60)}:${part(seconds % 60)}.000`;
}

/** In lines of about 80 characters. */
function wrapped(text: string): string {
  return text.replace(/(.{40,80}?)(?:\s|$)/g, '$1\n').trimEnd();
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
