import type { OcrSettings } from './ocr/recognise.ts';

export const documentKinds = [
  'markdown',
  'text',
  'html',
  'pdf',
  'docx',
  'pptx',
  'xlsx',
  'odt',
  'epub',
  'csv',
  'vtt',
  'srt',
  'rtf',
  'eml',
  'image',
] as const;
export type DocumentKind = (typeof documentKinds)[number];

/** Extension and media type help if the bytes do not tell the kind. */
export interface DocumentInput {
  name: string;
  mediaType?: string | null;
  /** Set if known; otherwise it is detected. */
  kind?: DocumentKind;
  bytes: Uint8Array;
  /** The caller no longer uses the bytes, so they need not be copied. */
  isHandedOver?: boolean;
}

export interface DocumentText {
  kind: 'text';
  title: string;
  /** Markdown or plain text, without NUL and broken surrogate pairs, with `\n` as line ends. */
  text: string;
  mediaType: string;
  /** What was left out or repaired, in sentences. */
  notes: string[];
  /** What the document says of itself, as it says it. */
  metadata: Record<string, unknown>;
  /** Where each of its pages or slides starts in the text, in UTF-16 units; absent: it has none. */
  pageStarts?: number[];
}

/** Nothing to index; not an error. */
export interface EmptyDocument {
  kind: 'empty';
  title: string;
  reason: string;
}

/** `code` is one of `documentErrors`; `message` is a sentence for people. */
export interface UnreadableDocument {
  kind: 'error';
  title: string;
  code: string;
  message: string;
}

export type ReadResult = DocumentText | EmptyDocument | UnreadableDocument;

export interface DocumentLimits {
  /** Size of the stored document. */
  maxBytes: number;
  /** Length of its text, in UTF-16 units. */
  maxTextUnits: number;
  /** Time limit for one page, or one piece of another document. */
  pieceMs: number;
  documentMs: number;
  /** How large the parts of a document may become when decompressed. */
  maxInflatedBytes: number;
  /** How many times their stored size; small parts are exempt. */
  maxInflateRatio: number;
  maxArchiveEntries: number;
  /** Larger pages are used whole, because finding their main text takes seconds. */
  maxHtmlElements: number;
  /** What reads images and scans; null: nothing. */
  ocr: OcrSettings | null;
}

const mebibyte = 1024 * 1024;

export const defaultDocumentLimits: DocumentLimits = {
  maxBytes: 64 * mebibyte,
  maxTextUnits: 32 * mebibyte,
  pieceMs: 20_000,
  documentMs: 180_000,
  maxInflatedBytes: 256 * mebibyte,
  maxInflateRatio: 200,
  maxArchiveEntries: 10_000,
  maxHtmlElements: 50_000,
  ocr: null,
};

/** The result of a reader, before it is cleaned for storage. */
export interface Converted {
  /** Null if the document has no title. */
  title: string | null;
  text: string;
  notes: string[];
  /** What the document says of itself: front matter, properties. */
  metadata?: Record<string, unknown>;
  /** Where each of its pages or slides starts in the text. */
  pageStarts?: number[];
}

export interface ConvertOptions {
  limits: DocumentLimits;
  /** From the Content-Type header. */
  charset: string | null;
  /** Called between pieces, to show that reading goes on. A page that is recognised takes its time. */
  onProgress(doing?: { isRecognising: boolean }): void;
}
