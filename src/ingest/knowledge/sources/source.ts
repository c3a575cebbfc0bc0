import type { FoundPage, FrontierPage } from '../../../kernel/crawl/types.ts';

/** A place to go on from; made and read by the source alone. */
export type SourceCursor = Record<string, unknown>;

/** What is known of a document from an earlier run. */
export interface KnownDocument {
  uri: string;
  contentHash: string | null;
  /**
   * What the source gave for it, to be given back as it was. A crawl keeps more in it than the server's ETag, a folder
   * what the file looked like.
   */
  etag: string | null;
  lastModified: string | null;
}

export interface LoadContext {
  /** Where the last committed batch ended; null at the beginning. */
  cursor: SourceCursor | null;
  /** Pages that earlier batches of this run have found, for crawls that go on. */
  frontier: readonly FrontierPage[];
  /** By URI, for conditional requests and unchanged content; unknown ones are absent. */
  findKnown(uris: readonly string[]): Promise<Map<string, KnownDocument>>;
  /**
   * All documents of this source that are not gone, whatever their state, by URI, behind `after`. Where it is given, a
   * crawl asks for each of them itself: a page that is linked nowhere any more is gone only when it says so.
   */
  listKnown?(page: { after: string | null; limit: number }): Promise<KnownDocument[]>;
  /**
   * The run before this one ended well and saw everything that this source had. Only then a crawl may take "not
   * modified" (304) from a page with links: nobody sees those links, so all they lead to must be known already.
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
      /** Markdown, or plain text that reads as Markdown; without NUL and half characters. */
      text: string;
      /** SHA-256 in hex of what decides whether it changed: the text, not the metadata. */
      contentHash: string;
      mediaType: string;
      /** What was left out or repaired, in sentences. */
      notes?: readonly string[];
      etag?: string | null;
      lastModified?: string | null;
    }
  /** The source proves that nothing changed (304, same bytes): no text was loaded. */
  | { kind: 'unchanged'; uri: string; etag?: string | null; lastModified?: string | null }
  /** Nothing to index in it: a warning, no error. */
  | { kind: 'empty'; uri: string; title: string; reason: string }
  /** Proven gone, for example 404 or 410. */
  | { kind: 'gone'; uri: string }
  /** It stays what it was; the reason is a sentence for people. */
  | { kind: 'error'; uri: string; title: string; code: string; message: string };

export interface DocumentBatch {
  documents: LoadedDocument[];
  /** Behind this batch. */
  cursor: SourceCursor;
  /** Of crawls: what this batch found and visited, kept with the checkpoint. */
  frontier?: { found: FoundPage[]; visited: string[] };
  /**
   * Only in the last batch. `isComplete`: everything that the source has was seen, so that what was not seen is gone.
   * A crawl with a page that failed is not complete: nothing may be deleted then.
   */
  end?: { isComplete: boolean; reason?: string };
}

/** Where documents come from. A new kind is one file and one line of the factory. */
export interface Source {
  /**
   * Resumes behind `context.cursor`. Memory is bounded by the batch: at most 16 texts or 1 MB of them, and at most
   * 1,000 documents when most have not changed.
   */
  batches(context: LoadContext): AsyncIterable<DocumentBatch>;
}
