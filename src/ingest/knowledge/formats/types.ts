import type { Readable } from 'node:stream';

export const documentKinds = ['markdown', 'text', 'html', 'pdf', 'docx', 'vtt', 'srt'] as const;
export type DocumentKind = (typeof documentKinds)[number];

/** Either the bytes or a stream of them. The name's ending and the media type help where the bytes say nothing. */
export type DocumentInput = {
  name: string;
  mediaType?: string | null;
  /** Where it is certain; otherwise it is found out. */
  kind?: DocumentKind;
} & (
  | {
      bytes: Uint8Array;
      /** The caller has no more use for the bytes: they need not be copied. */
      isHandedOver?: boolean;
    }
  | { stream: Readable }
);

export interface DocumentText {
  kind: 'text';
  title: string;
  /** Markdown, or plain text that reads as Markdown: without NUL and half characters, lines end in `\n`. */
  text: string;
  mediaType: string;
  /** What was left out or repaired, in sentences. */
  notes: string[];
}

/** Nothing to index in it; no error. */
export interface EmptyDocument {
  kind: 'empty';
  title: string;
  reason: string;
}

/** `code` is one of `documentErrors`; the message is a sentence for people. */
export interface UnreadableDocument {
  kind: 'error';
  title: string;
  code: string;
  message: string;
}

export type ReadResult = DocumentText | EmptyDocument | UnreadableDocument;

export interface DocumentLimits {
  /** Of the document as it is stored. */
  maxBytes: number;
  /** Of the text that is made of it, in UTF-16 units. */
  maxTextUnits: number;
  /** The longest that one page, or one piece of another document, may take. */
  pieceMs: number;
  documentMs: number;
  /** What parts of a document may unfold to. */
  maxInflatedBytes: number;
  /** How many times as large as they are stored; small parts may do so freely. */
  maxInflateRatio: number;
  maxArchiveEntries: number;
  /** Larger pages are taken as they are, because finding the main text of one costs seconds. */
  maxHtmlElements: number;
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
};

/** What a reader of one kind makes of a document, before it is made safe to store. */
export interface Converted {
  /** Null when the document does not name itself. */
  title: string | null;
  text: string;
  notes: string[];
}

export interface ConvertOptions {
  limits: DocumentLimits;
  /** What a Content-Type header said. */
  charset: string | null;
  /** Called between pieces of work: whoever waits knows that it goes on. */
  onProgress(): void;
}
