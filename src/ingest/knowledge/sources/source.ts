import { createHash } from 'node:crypto';
import type { FoundPage, FrontierPage } from '../../../kernel/crawl/types.ts';
import type { ReadResult } from '../formats/types.ts';

/** Where a source continues; only the source itself reads it. */
export type SourceCursor = Record<string, unknown>;

/** What is known of a document from an earlier run. */
export interface KnownDocument {
  uri: string;
  contentHash: string | null;
  /**
   * What the source returned for it, passed back unchanged. A crawl stores more in it than the server's ETag, a folder
   * the stamp of the file.
   */
  etag: string | null;
  lastModified: string | null;
}

export interface LoadContext {
  /** Where the last committed batch ended; null at the start. */
  cursor: SourceCursor | null;
  /** Crawls only: pages that earlier batches of this run have found. */
  frontier: readonly FrontierPage[];
  /** By URI, for conditional requests and to detect unchanged content; unknown URIs are left out. */
  findKnown(uris: readonly string[]): Promise<Map<string, KnownDocument>>;
  /**
   * All documents of this source that are not gone, in any state, by URI, after `after`. If given, a crawl requests
   * each of them: a page that is no longer linked is gone only if its own response says so.
   */
  listKnown?(page: { after: string | null; limit: number }): Promise<KnownDocument[]>;
  /**
   * Whether the previous run succeeded and read this source completely. Only then may a page with links answer 304 (not
   * modified): its links are not seen, so all pages behind them must be known already.
   */
  wasComplete?: boolean;
  signal: AbortSignal;
}

/** One document of a batch. `uri` is its identity within the source. */
export type LoadedDocument =
  | {
      kind: 'text';
      uri: string;
      title: string;
      /** Markdown or plain text, without NUL and broken surrogate pairs. */
      text: string;
      /** SHA-256 in hex of what decides whether it changed. */
      contentHash: string;
      mediaType: string;
      /** What was left out or repaired, in sentences. */
      notes?: readonly string[];
      /** Where each of its pages starts in the text; absent: it has none. */
      pageStarts?: readonly number[];
      /** What the document says of itself. */
      metadata?: Readonly<Record<string, unknown>>;
      etag?: string | null;
      lastModified?: string | null;
    }
  /** The source knows that nothing changed (304, same bytes); no text was loaded. */
  | { kind: 'unchanged'; uri: string; etag?: string | null; lastModified?: string | null }
  /** Nothing to index: a warning, not an error. */
  | { kind: 'empty'; uri: string; title: string; reason: string }
  /** The source reports that it is gone, for example with 404 or 410. */
  | { kind: 'gone'; uri: string }
  /** The document keeps its earlier state; `message` is a sentence for people. */
  | { kind: 'error'; uri: string; title: string; code: string; message: string };

export interface DocumentBatch {
  documents: LoadedDocument[];
  /** Where the source continues after this batch. */
  cursor: SourceCursor;
  /** Crawls only: what this batch found and visited, stored with the checkpoint. */
  frontier?: { found: FoundPage[]; visited: string[] };
  /**
   * Only in the last batch. `isComplete`: all documents of the source were seen, so the others are gone. A crawl with a
   * failed page is not complete, and nothing may be deleted then.
   */
  end?: { isComplete: boolean; reason?: string };
}

export interface Source {
  /**
   * Resumes after `context.cursor`. Memory is bounded by the batch: at most 16 texts or 1 MB of them, and at most
   * 1,000 documents when most have not changed.
   */
  batches(context: LoadContext): AsyncIterable<DocumentBatch>;
}

type Found = Pick<
  Extract<LoadedDocument, { kind: 'text' }>,
  'title' | 'contentHash' | 'etag' | 'lastModified'
>;

/** What was read as a document of a source. Default: the title that was read, and the hash of the text. */
export function loadedDocument(
  result: ReadResult,
  { uri, title = result.title, ...found }: { uri: string } & Partial<Found>,
): LoadedDocument {
  if (result.kind !== 'text') return { ...result, uri, title };
  // The same words on other pages are cited differently.
  const pages = result.pageStarts?.join(' ') ?? '';
  const contentHash = sha256Of(pages === '' ? result.text : `${result.text}\0${pages}`);
  return { ...result, uri, title, contentHash, ...found };
}

export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
