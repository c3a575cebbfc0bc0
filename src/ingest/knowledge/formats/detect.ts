import { recogniseBinary } from '../../../lib/formats/magic-bytes.ts';
import { decodeStart } from './decode-text.ts';
import { documentErrors } from './errors.ts';
import type { DocumentKind } from './types.ts';

/** Enough for leading blank lines, and for the first names in a ZIP archive. */
const startBytes = 4096;

const kindsByEnding: Record<string, DocumentKind> = {
  md: 'markdown',
  markdown: 'markdown',
  mdx: 'markdown',
  txt: 'text',
  text: 'text',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
  pptx: 'pptx',
  xlsx: 'xlsx',
  odt: 'odt',
  epub: 'epub',
  csv: 'csv',
  tsv: 'csv',
  vtt: 'vtt',
  srt: 'srt',
  rtf: 'rtf',
  eml: 'eml',
};

const mediaTypes: Record<DocumentKind, string> = {
  markdown: 'text/markdown',
  text: 'text/plain',
  html: 'text/html',
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  odt: 'application/vnd.oasis.opendocument.text',
  epub: 'application/epub+zip',
  csv: 'text/csv',
  vtt: 'text/vtt',
  srt: 'application/x-subrip',
  rtf: 'application/rtf',
  eml: 'message/rfc822',
  image: 'image/*',
};

export function mediaTypeOf(kind: DocumentKind): string {
  return mediaTypes[kind];
}

/** Null for unknown extensions. */
export function kindOfName(name: string): DocumentKind | null {
  const ending = /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(kindsByEnding, ending) ? (kindsByEnding[ending] ?? null) : null;
}

function kindOfMediaType(mediaType: string | null | undefined): DocumentKind | null {
  const type = mediaType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/xhtml+xml') return 'html';
  // Browsers send text/plain for unknown types, so the text itself is checked.
  if (type === 'text/plain') return null;
  const found = Object.entries(mediaTypes).find(([, name]) => name === type);
  return (found?.[0] as DocumentKind | undefined) ?? null;
}

/**
 * Detects the kind of a document by its bytes, then by the extension, then by the media type, then by its text. Throws
 * one of `documentErrors` for unsupported documents.
 */
export function detectKind(
  bytes: Buffer,
  { name, mediaType }: { name: string; mediaType?: string | null },
): DocumentKind {
  const named = kindOfName(name) ?? kindOfMediaType(mediaType);
  const start = bytes.subarray(0, startBytes);
  if (isPdf(start, named)) return 'pdf';
  if (/^\s*\{\\rtf/.test(start.toString('latin1', 0, 64))) return 'rtf';
  const binary = recogniseBinary(start);
  // Only as a file on its own: folders and exports are full of pictures without a text.
  if (binary !== null && readableImages.has(binary)) return 'image';
  if (binary !== null) return kindOfBinary(bytes, { what: binary, named });
  if (named === 'pdf')
    throw documentErrors.raise.pdf_is_broken('The file does not start like a PDF document');
  if (named === 'docx')
    throw documentErrors.raise.docx_is_broken('The file is not a ZIP archive, as DOCX files are');
  if (named !== null && archivedKinds.has(named)) {
    throw documentErrors.raise.document_is_broken(
      `The file is not a ZIP archive, as ${named.toUpperCase()} files are`,
    );
  }
  if (start.length === 0) return named ?? 'text';
  const text = decodeStart(start);
  if (looksBinary(text)) throw documentErrors.raise.document_is_binary('The document is binary and not text');
  return named ?? kindOfText(text);
}

const readableImages = new Set([
  'a PNG image',
  'a JPEG image',
  'a WebP image',
  'a TIFF image',
  'a GIF image',
]);

/** Printers and mail programs put lines before the header; PDF readers search the first 1,024 bytes. */
function isPdf(start: Buffer, named: DocumentKind | null): boolean {
  const at = start.subarray(0, 1024).indexOf('%PDF-');
  return at === 0 || (at > 0 && named === 'pdf');
}

function kindOfBinary(
  bytes: Buffer,
  { what, named }: { what: string; named: DocumentKind | null },
): DocumentKind {
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const archived = isZip ? kindOfArchive(bytes, { what, named }) : null;
  if (archived !== null) return archived;
  if (bytes[0] === 0xd0 && bytes[1] === 0xcf) {
    if (bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'))) {
      throw documentErrors.raise.docx_is_encrypted('The document is protected by a password');
    }
    if (bytes.includes(Buffer.from('WordDocument', 'utf16le'))) {
      throw documentErrors.raise.doc_is_too_old(
        'The document is a DOC file of Word 97 to 2003; only DOCX is supported',
      );
    }
  }
  throw documentErrors.raise.document_is_binary(`The document is ${what}, which cannot be read`);
}

const archivedKinds = new Set<DocumentKind>(['docx', 'pptx', 'xlsx', 'odt', 'epub']);

/** What the archive says at its start counts more than its name. */
function kindOfArchive(
  bytes: Buffer,
  { what, named }: { what: string; named: DocumentKind | null },
): DocumentKind | null {
  const start = bytes.toString('latin1', 0, startBytes);
  if (start.includes('mimetypeapplication/epub+zip')) return 'epub';
  if (start.includes('mimetypeapplication/vnd.oasis.opendocument.text')) return 'odt';
  if (what.includes('DOCX')) return 'docx';
  if (start.includes('ppt/')) return 'pptx';
  if (what === 'an Excel workbook (XLSX)') return 'xlsx';
  return named !== null && archivedKinds.has(named) ? named : null;
}

function kindOfText(text: string): DocumentKind {
  if (/^\s*<(?:!doctype\s+html|html|head|body)\b/i.test(text)) return 'html';
  if (/^(?:From |Return-Path:|Received:|Delivered-To:|Message-ID:|MIME-Version:|DKIM-Signature:)/i.test(text))
    return 'eml';
  if (/^\s*WEBVTT(?:\s|$)/.test(text)) return 'vtt';
  if (/^\s*\d+\s*\n\d{1,2}:\d\d:\d\d[,.]\d{1,3} -->/.test(text)) return 'srt';
  return 'text';
}

/** So few control characters are mistakes in a text, even if the text is short. */
const fewControls = 16;

function looksBinary(text: string): boolean {
  let controls = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 32 && code !== 9 && code !== 10 && code !== 12 && code !== 13) controls += 1;
  }
  return controls > Math.max(fewControls, text.length / 10);
}
