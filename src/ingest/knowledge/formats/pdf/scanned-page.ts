import { isSluiceError } from '../../../../lib/errors.ts';
import type { MarkdownWriter } from '../markdown-writer.ts';
import { writeRecognised } from '../ocr/image.ts';
import { recognise } from '../ocr/recognise.ts';
import type { ConvertOptions } from '../types.ts';

interface PageImage {
  data: Uint8ClampedArray;
  width: number;
  height: number;
  channels: 1 | 3 | 4;
}

/** The decoded images of a page, whose pages count from 1. */
export type PageImages = (page: number) => Promise<PageImage[]>;

/** Smaller ones are logos, lines and dots. */
const smallestSide = 200;
const mostImages = 8;

/** Images take a while to decode: with more pages like this it is a scan, and nobody reads it here. */
const mostUnread = 20;

/** True if the text of its images was written, false if nothing here can read them, null without images. */
export async function readScannedPage(
  page: number,
  {
    images,
    writer,
    limits,
    onProgress,
    unread,
  }: ConvertOptions & { images: PageImages; writer: MarkdownWriter; unread: readonly number[] },
): Promise<boolean | null> {
  const { ocr } = limits;
  if (ocr === null && unread.length >= mostUnread) return false;
  const found = await images(page).catch(() => []);
  const large = found.filter(({ width, height }) => Math.min(width, height) >= smallestSide);
  if (large.length === 0) return null;
  if (ocr === null) return false;
  for (const { data, width, height, channels } of large.slice(0, mostImages)) {
    try {
      writeRecognised(await recognise(data, { ocr, onProgress, raw: { width, height, channels } }), writer);
    } catch (error) {
      // The other pages may have text.
      if (isSluiceError(error) && error.code === 'document_needs_ocr') return false;
      throw error;
    }
  }
  return true;
}
