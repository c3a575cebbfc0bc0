import type {
  DocumentBatch,
  KnownDocument,
  LoadedDocument,
  Source,
  SourceCursor,
} from '../../../src/ingest/knowledge/sources/source.ts';

export interface SourceReading {
  batches: DocumentBatch[];
  documents: LoadedDocument[];
  uris: string[];
  end: DocumentBatch['end'];
}

/** Reads a source to its end, as a run does. */
export async function readSource(
  source: Source,
  options: { known?: LoadedDocument[]; cursor?: SourceCursor | null } = {},
): Promise<SourceReading> {
  const known = new Map((options.known ?? []).map((document) => [document.uri, knownOf(document)]));
  const batches: DocumentBatch[] = [];
  for await (const batch of source.batches({
    cursor: options.cursor ?? null,
    frontier: [],
    findKnown: async (uris) => new Map([...known].filter(([uri]) => uris.includes(uri))),
    signal: new AbortController().signal,
  })) {
    batches.push(batch);
  }
  const documents = batches.flatMap((batch) => batch.documents);
  return { batches, documents, uris: documents.map(({ uri }) => uri), end: batches.at(-1)?.end };
}

function knownOf(document: LoadedDocument): KnownDocument {
  const contentHash = document.kind === 'text' ? document.contentHash : null;
  const etag = document.kind === 'text' ? (document.etag ?? null) : null;
  return { uri: document.uri, contentHash, etag, lastModified: null };
}
