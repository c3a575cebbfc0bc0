import { randomInt } from 'node:crypto';
import { newId } from '../../../../lib/ids.ts';
import { storable } from '../../../../lib/well-formed.ts';
import { contextOf } from '../../chunkers/context.ts';
import { cutText } from '../../chunkers/cut-text.ts';
import { pagesOf } from '../../chunkers/pages.ts';
import type { KnownRow, OwnLabels } from '../../index/visit-store.ts';
import { labelsOf } from '../../labels/source-labels.ts';
import type { LoadedDocument } from '../../sources/source.ts';
import type { KnowledgeSource } from '../../types.ts';
import type { PartialDocument } from '../checkpoint.ts';
import type { Group, GroupPart, LoadedBatch, RunContext, RunDocument } from '../context.ts';
import { byUri, findRows } from './loading.ts';

type TextDocument = Extract<LoadedDocument, { kind: 'text' }>;

/** Documents without chunks cost little: this many may share a transaction, for this long. */
const maxDocuments = 1_000;
const maxAgeMs = 500;
const maxRevision = 2 ** 48 - 1;

/** Cuts documents into chunks, and puts the chunks into groups that are embedded and committed together. */
export async function* groupDocuments(
  run: RunContext,
  batches: AsyncIterable<LoadedBatch>,
): AsyncGenerator<Group> {
  const grouping = new Grouping(run);
  for await (const loaded of batches) {
    yield* grouping.begin(loaded);
    const { documents } = loaded.batch;
    const uris = documents.map(({ uri }) => uri);
    const known = loaded.known ?? byUri(await findRows(run, loaded.source, uris));
    for (const document of documents) {
      const row = known.get(document.uri);
      const text = grouping.take(document, row);
      if (text !== null) yield* grouping.cut(text, row);
      if (grouping.isOverfull()) yield* grouping.flush();
    }
    yield* grouping.endBatch(loaded);
  }
  yield* grouping.flush();
}

/** The input of the chunk step: documents with URIs that PostgreSQL accepts. */
export function withStorableUris({ batch, ...loaded }: LoadedBatch): LoadedBatch {
  const documents = batch.documents.map((document) => ({ ...document, uri: storable(document.uri) }));
  return { ...loaded, batch: { ...batch, documents } };
}

class Grouping {
  readonly #run: RunContext;
  /** The partial document of the checkpoint; it comes in the first batch or not at all. */
  #partial: PartialDocument | null;
  #group: Group | null = null;
  #source: KnowledgeSource | null = null;
  #batchId = 0;
  #startedAtMs = 0;
  #chunks = 0;
  #tokens = 0;
  #documents = 0;
  /** URIs of the last groups, which may not be committed yet, so that their rows do not show them. */
  #recent: string[][] = [];
  readonly #recentUris = new Set<string>();

  constructor(run: RunContext) {
    this.#run = run;
    this.#partial = run.checkpoint.document;
  }

  *begin({ source, batchId }: LoadedBatch): Generator<Group> {
    this.#batchId = batchId;
    if (this.#source && this.#source.sourceId !== source.sourceId) {
      yield* this.flush();
      this.#forget();
    }
    this.#source = source;
    if (this.#partial && this.#partial.source_id !== source.sourceId) this.#dropPartial();
  }

  /** Returns a text that has to be cut; records all other documents. */
  take(document: LoadedDocument, row: KnownRow | undefined): TextDocument | null {
    // A second document with the same URI, or one that was done before a crash, is skipped.
    if (row?.lastJob === this.#run.jobId || this.#recentUris.has(document.uri)) return null;
    this.#remember(document.uri);
    this.#documents += 1;
    if (document.kind === 'text' && document.contentHash !== row?.contentHash) return document;
    this.#note(document);
    return null;
  }

  /** Usually groups end with a batch, where the checkpoint moves too. */
  isOverfull(): boolean {
    return this.#documents > maxDocuments;
  }

  /** Two sources may have the same URIs. */
  #forget(): void {
    this.#recent = [];
    this.#recentUris.clear();
  }

  *endBatch({ batchId, batch, source }: LoadedBatch): Generator<Group> {
    if (this.#partial?.source_id === source.sourceId) this.#dropPartial();
    const group = this.#open();
    group.batch = {
      batchId,
      cursor: batch.cursor,
      found: [...(group.batch?.found ?? []), ...(batch.frontier?.found ?? [])],
      visited: [...(group.batch?.visited ?? []), ...(batch.frontier?.visited ?? [])],
      end: batch.end,
    };
    const isOld = performance.now() - this.#startedAtMs > maxAgeMs;
    const isFull = this.#chunks > 0 || this.#documents >= maxDocuments;
    if (isFull || batch.end || isOld) yield* this.flush();
  }

  async *cut(document: TextDocument, row: KnownRow | undefined): AsyncGenerator<Group> {
    const begun = this.#resume(document);
    const described = { ...documentOf(document), ...this.#labels(document) };
    const made = begun ? { ...described, ...begun } : { ...described, ...newRevision(row) };
    const skip = begun?.nextChunk ?? 0;
    const hasContext = this.#run.target.chunker.context === 'headings';
    let part = this.#openPart(made);
    let ordinal = 0;
    for await (const chunk of cutText(this.#run.chunker, document.text)) {
      if (ordinal >= skip) {
        if (!this.#hasRoom(chunk.tokens)) {
          yield* this.flush();
          part = this.#openPart(made);
        }
        const pages = pagesOf(chunk, document.pageStarts ?? []);
        const placed = pages === null ? chunk : { ...chunk, pages };
        part.chunks.push({
          ordinal,
          chunk: hasContext ? { ...placed, context: contextOf(chunk, made) } : placed,
        });
        this.#chunks += 1;
        this.#tokens += chunk.tokens;
      }
      ordinal += 1;
    }
    part.isLast = true;
    if (ordinal === 0) this.#replaceByEmpty(part);
  }

  /** Where the checkpoint stopped in this text; a changed text starts from the beginning. */
  #resume(document: TextDocument) {
    const partial = this.#partial;
    if (partial === null) return null;
    if (partial.uri !== document.uri || partial.content_hash !== document.contentHash) {
      this.#dropPartial();
      return null;
    }
    this.#partial = null;
    return { documentId: partial.document_id, revision: partial.revision, nextChunk: partial.next_chunk };
  }

  #note(document: LoadedDocument): void {
    if (this.#partial?.uri === document.uri) this.#dropPartial();
    const group = this.#open();
    const { uri } = document;
    switch (document.kind) {
      case 'text':
      case 'unchanged':
        group.unchanged.push({
          uri,
          etag: document.etag ?? null,
          lastModified: document.lastModified ?? null,
        });
        break;
      case 'empty':
        group.empty.push({
          uri,
          title: label(document.title),
          reason: label(document.reason),
          ...this.#labels({ uri }),
        });
        break;
      case 'error': {
        const { title, code, message } = document;
        const labels = this.#labels({ uri });
        group.failed.push({ uri, title: label(title), code, message: label(message), ...labels });
        break;
      }
      case 'gone':
        group.gone.push(uri);
    }
  }

  #replaceByEmpty(part: GroupPart): void {
    const group = this.#open();
    group.parts = group.parts.filter((other) => other !== part);
    const { uri, title, ownMetadata, ownAllow } = part.document;
    group.empty.push({ uri, title, reason: 'The document has no text', ownMetadata, ownAllow });
  }

  #labels(document: Parameters<typeof labelsOf>[1]): OwnLabels {
    const { metadata, allow } = labelsOf(this.#source?.settings ?? {}, document);
    return { ownMetadata: metadata, ownAllow: allow };
  }

  #dropPartial(): void {
    this.#partial = null;
    this.#open().discardsPartial = true;
  }

  #openPart(document: RunDocument): GroupPart {
    const part: GroupPart = { document, chunks: [], isLast: false };
    this.#open().parts.push(part);
    return part;
  }

  #hasRoom(tokens: number): boolean {
    const { maxChunks, maxTokens } = this.#run.size;
    return this.#chunks === 0 || (this.#chunks < maxChunks && this.#tokens + tokens <= maxTokens);
  }

  #open(): Group {
    if (this.#group) return this.#group;
    if (!this.#source) throw new Error('A group needs a source');
    this.#startedAtMs = performance.now();
    this.#recent.push([]);
    this.#group = {
      source: this.#source,
      batchId: this.#batchId,
      parts: [],
      unchanged: [],
      empty: [],
      failed: [],
      gone: [],
      discardsPartial: false,
      batch: null,
    };
    return this.#group;
  }

  *flush(): Generator<Group> {
    const group = this.#group;
    if (group === null) return;
    this.#group = null;
    this.#chunks = 0;
    this.#tokens = 0;
    this.#documents = 0;
    this.#forgetOld();
    yield group;
  }

  #remember(uri: string): void {
    this.#open();
    this.#recent.at(-1)?.push(uri);
    this.#recentUris.add(uri);
  }

  /** Keeps as many groups as may be uncommitted. */
  #forgetOld(): void {
    const { callsInFlight } = this.#run.embedder.limits;
    const most = groupsAhead(callsInFlight) + callsInFlight + 4;
    while (this.#recent.length > most) {
      for (const uri of this.#recent.shift() ?? []) this.#recentUris.delete(uri);
    }
  }
}

/** How many groups are made ahead: enough to keep all calls busy while one more is being cut. */
export function groupsAhead(callsInFlight: number): number {
  return callsInFlight + 1;
}

function newRevision(row: KnownRow | undefined): Pick<RunDocument, 'documentId' | 'revision'> {
  return {
    documentId: row?.documentId ?? newId(),
    revision: randomInt(1, maxRevision),
  };
}

function documentOf({ uri, title, mediaType, notes, contentHash, etag, lastModified }: TextDocument) {
  return {
    uri,
    title: label(title),
    mediaType: label(mediaType),
    notes: (notes ?? []).slice(0, maxNotes).map(label),
    contentHash,
    etag: etag ?? null,
    lastModified: lastModified ?? null,
  };
}

const maxLength = 2_000;
const maxNotes = 20;

/** Sources clean their texts, but a bad title must not fail a whole run. */
function label(text: string): string {
  return storable(text.slice(0, maxLength));
}
