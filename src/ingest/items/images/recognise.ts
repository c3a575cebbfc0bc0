import { recogniseBinary } from '../../../lib/formats/magic-bytes.ts';
import type { ArrivingFile, ImageFormat } from './types.ts';

/** Enough for the head of an SVG with comments before it, and for the first names in an archive. */
export const sniffBytes = 4096;

export type Recognised =
  | { kind: 'image'; format: ImageFormat }
  /** An image, but none that is decoded here. `what` completes "The image is …". */
  | { kind: 'unsupported'; what: string; mediaType: string }
  | { kind: 'archive' }
  /** `what` completes "The file is …"; null when nobody knows. */
  | { kind: 'other'; what: string | null };

/** Decides by the first bytes alone: names and declared types may be wrong. */
export function recogniseImage(start: Buffer): Recognised {
  const format = formatOf(start);
  if (format !== null) return { kind: 'image', format };
  const unsupported = unsupportedOf(start);
  if (unsupported !== null) return { kind: 'unsupported', ...unsupported };
  const what = recogniseBinary(start);
  if (what === 'a ZIP archive') return { kind: 'archive' };
  return { kind: 'other', what: what ?? (looksLikeText(start) ? 'text' : null) };
}

const mediaTypes: Record<ImageFormat, string> = {
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  tiff: 'image/tiff',
  avif: 'image/avif',
};

/** The media type of the content, for downloads. */
export function mediaTypeOf(recognised: Recognised): string {
  if (recognised.kind === 'image') return mediaTypes[recognised.format];
  return recognised.kind === 'unsupported' ? recognised.mediaType : 'application/octet-stream';
}

const extensions: Record<string, ImageFormat> = {
  jpg: 'jpeg',
  jpeg: 'jpeg',
  jpe: 'jpeg',
  jfif: 'jpeg',
  png: 'png',
  gif: 'gif',
  webp: 'webp',
  tif: 'tiff',
  tiff: 'tiff',
  avif: 'avif',
};

const otherImages = ['svg', 'heic', 'heif', 'bmp', 'ico', 'jxl', 'jp2', 'psd'];

/** The format that a file's name claims; null without one. */
export function formatOfName(name: string): ImageFormat | null {
  return extensions[extensionOf(name)] ?? null;
}

type Declared = Pick<ArrivingFile, 'fileName' | 'mediaType'>;

/** Whether the file is declared as an image. */
export function isDeclaredImage({ fileName, mediaType }: Declared): boolean {
  if (mediaType !== null && /^image\//i.test(mediaType)) return true;
  const extension = extensionOf(fileName ?? '');
  return extension in extensions || otherImages.includes(extension);
}

/** Whether the file is declared as a file of rows. The declared type counts before the name. */
export function isDeclaredRows({ fileName, mediaType }: Declared): boolean {
  if (/^(text|application)\/.*(csv|tab-separated|json|spreadsheet)/i.test(mediaType ?? '')) return true;
  if (/^image\//i.test(mediaType ?? '')) return false;
  return ['csv', 'tsv', 'tab', 'json', 'ndjson', 'jsonl', 'xlsx', 'xls'].includes(
    extensionOf(fileName ?? ''),
  );
}

function extensionOf(name: string): string {
  const at = name.lastIndexOf('.');
  return at === -1 ? '' : name.slice(at + 1).toLowerCase();
}

function formatOf(start: Buffer): ImageFormat | null {
  const hex = start.toString('hex', 0, 12);
  if (hex.startsWith('ffd8ff')) return 'jpeg';
  if (hex.startsWith('89504e470d0a1a0a')) return 'png';
  if (/^4749463(8|9)(37|39)61/.test(hex)) return 'gif';
  if (/^52494646.{8}57454250/.test(hex)) return 'webp';
  if (/^(49492a00|4d4d002a|49492b00|4d4d002b)/.test(hex)) return 'tiff';
  return isBrand(start, ['avif', 'avis']) ? 'avif' : null;
}

function unsupportedOf(start: Buffer): { what: string; mediaType: string } | null {
  const hex = start.toString('hex', 0, 14);
  if (isBrand(start, ['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'mif1', 'msf1'])) {
    return { what: 'HEIC, whose codec is not free to use', mediaType: 'image/heic' };
  }
  if (isSvg(start)) {
    return { what: 'SVG, which holds drawing instructions and no pixels', mediaType: 'image/svg+xml' };
  }
  if (/^424d.{8}00000000/.test(hex)) return { what: 'a BMP', mediaType: 'image/bmp' };
  if (hex.startsWith('00000100')) return { what: 'an icon (ICO)', mediaType: 'image/x-icon' };
  if (hex.startsWith('38425053')) return { what: 'a Photoshop file', mediaType: 'image/vnd.adobe.photoshop' };
  if (hex.startsWith('ff0a') || hex.startsWith('0000000c4a584c20')) {
    return { what: 'JPEG XL', mediaType: 'image/jxl' };
  }
  if (hex.startsWith('0000000c6a5020200d0a')) return { what: 'JPEG 2000', mediaType: 'image/jp2' };
  return null;
}

/** The container of AVIF and HEIC names its content: the main brand, and the compatible ones. */
function isBrand(start: Buffer, brands: readonly string[]): boolean {
  if (start.toString('latin1', 4, 8) !== 'ftyp') return false;
  const end = Math.min(start.length, start.readUInt32BE(0), 64);
  for (let at = 8; at + 4 <= end; at += 4) {
    // The version of the main brand lies between the two.
    if (at !== 12 && brands.includes(start.toString('latin1', at, at + 4))) return true;
  }
  return false;
}

function isSvg(start: Buffer): boolean {
  const text = start
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  return /^<(\?xml|!--|!doctype\s+svg|svg)/i.test(text) && /<(svg[\s>:]|!doctype\s+svg)/i.test(text);
}

function looksLikeText(start: Buffer): boolean {
  if (start.length === 0) return false;
  return !start.some((byte) => byte < 9 || (byte > 13 && byte < 32));
}
