import { MarkdownWriter } from '../markdown-writer.ts';
import type { Converted, ConvertOptions } from '../types.ts';
import { recognise } from './recognise.ts';

/** The text in a picture: a photographed or scanned page. */
export async function readImage(bytes: Buffer, options: ConvertOptions): Promise<Converted> {
  const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
  writeRecognised(
    await recognise(bytes, { ocr: options.limits.ocr, onProgress: options.onProgress }),
    writer,
  );
  const notes = ['The text was recognised in an image and may have mistakes.'];
  return { title: null, text: writer.toString(), notes };
}

/** Paragraphs are separated by empty lines; a line of a paragraph may end within a word. */
export function writeRecognised(text: string, writer: MarkdownWriter): void {
  for (const paragraph of text.split(/\n\s*\n/)) {
    writer.paragraph(paragraph.replace(/(\p{Ll})-\n(?=\p{Ll})/gu, '$1').replace(/\s*\n\s*/g, ' '));
  }
}
