import { createHash } from 'node:crypto';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Chunker, ChunkerSettings } from '../../../src/ingest/knowledge/chunkers/chunker.ts';
import { createChunker } from '../../../src/ingest/knowledge/chunkers/create-chunker.ts';
import type { Embedder, EmbedderLimits } from '../../../src/ingest/knowledge/embedders/embedder.ts';
import { fingerprintOf } from '../../../src/ingest/knowledge/embedders/open-embedder.ts';
import { ExactEngine } from '../../../src/ingest/knowledge/index/vector/exact.ts';
import { KnowledgeMetrics } from '../../../src/ingest/knowledge/metrics.ts';
import { knowledgePipeline } from '../../../src/ingest/knowledge/pipeline.ts';
import type { KnowledgeWorkerDeps } from '../../../src/ingest/knowledge/run/deps.ts';
import type {
  DocumentBatch,
  LoadContext,
  LoadedDocument,
  Source,
} from '../../../src/ingest/knowledge/sources/source.ts';
import { insertKb, insertSource } from '../../../src/ingest/knowledge/store.ts';
import type { KbKey } from '../../../src/ingest/knowledge/types.ts';
import { cancel, dispatch, pause, resume } from '../../../src/kernel/jobs/dispatch/service.ts';
import type { Kernel, KernelOptions } from '../../../src/kernel/jobs/kernel.ts';
import type { Job, Pipeline } from '../../../src/kernel/jobs/types.ts';
import { CircuitBreakers } from '../../../src/kernel/limits/circuit-breaker.ts';
import { newId } from '../../../src/lib/ids.ts';
import { databaseErrors } from '../../../src/lib/postgres/db-errors.ts';
import { newTenant, type TestDatabase } from './database.ts';
import { testKernel } from './kernel.ts';
import { type SliceHooks, sliceWatcher } from './watched-slices.ts';

export type RunHooks = Omit<SliceHooks, 'inside'>;

export type RunOptions = Partial<KernelOptions> & {
  hooks?: RunHooks;
  sliceMs?: number;
  embedder?: TestEmbedder;
  work?: boolean;
} & Partial<Pick<KnowledgeWorkerDeps, 'createChunker' | 'openSource' | 'wait' | 'logger'>>;

export interface Run {
  kernel: Kernel;
  deps: KnowledgeWorkerDeps;
  embedder: TestEmbedder;
  /** Of the retry policy; none is waited for. */
  delays: number[];
}

/** Makes a vector of a text's hash, remembers every text that it was asked for, and fails on demand. */
export class TestEmbedder implements Embedder {
  readonly provider = 'custom';
  readonly model: string;
  readonly dimensions: number;
  readonly limits: EmbedderLimits;
  readonly pricePerMillionTokens: number;
  /** Every call that got a response. */
  readonly calls: string[][] = [];
  /** Runs before a call gets its response; throws to make it fail. */
  onCall: (texts: readonly string[], signal: AbortSignal) => Promise<void> | void = () => {};
  inFlight = 0;
  mostInFlight = 0;

  constructor(options: Partial<EmbedderLimits & { model: string; dimensions: number; price: number }> = {}) {
    const { model = 'test', dimensions = 8, price = 0, ...limits } = options;
    this.model = model;
    this.dimensions = dimensions;
    this.pricePerMillionTokens = price;
    this.limits = {
      textsPerCall: 4,
      tokensPerCall: 10_000,
      tokensPerText: 1_000,
      callsInFlight: 2,
      ...limits,
    };
  }

  async embed(texts: readonly string[], { signal }: { signal: AbortSignal }): Promise<Float32Array[]> {
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      await this.onCall(texts, signal);
      this.calls.push([...texts]);
      return texts.map((text) => vectorOf(text, this.dimensions));
    } finally {
      this.inFlight -= 1;
    }
  }

  get texts(): string[] {
    return this.calls.flat();
  }

  async close(): Promise<void> {}
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const bytes = createHash('sha256').update(text).digest();
  const raw = Float32Array.from({ length: dimensions }, (_, at) => (bytes[at % bytes.length] ?? 0) - 128);
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** Each paragraph is a chunk. */
export function paragraphs(settings: ChunkerSettings): Chunker {
  return {
    settings,
    *chunks(text) {
      for (const match of text.matchAll(/\S(?:.|\n(?!\n))*/g)) {
        const words = match[0].trim();
        yield {
          text: words,
          contentHash: sha256(words),
          headingPath: ['Top'],
          start: match.index,
          end: match.index + words.length,
          tokens: words.split(/\s+/).length,
        };
      }
    },
  };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A text, or any other state that a source can report for a document. */
export type Entry = string | Exclude<LoadedDocument, { kind: 'text' }>;

/** A source whose documents a test adds and removes. Resumes after the last name, as folders do. */
export class Shelf {
  readonly documents = new Map<string, Entry>();
  batchSize = 2;
  end: DocumentBatch['end'] = { isComplete: true };
  /** Names of documents whose text was loaded, in order. */
  readonly loaded: string[] = [];
  /** Runs before a batch is returned. */
  onBatch: (names: readonly string[], signal: AbortSignal) => Promise<void> | void = () => {};

  constructor(documents: Record<string, Entry> = {}) {
    this.put(documents);
  }

  put(documents: Record<string, Entry>): this {
    for (const [name, entry] of Object.entries(documents)) this.documents.set(name, entry);
    return this;
  }

  open(): Source {
    return { batches: (context) => this.#batches(context) };
  }

  async *#batches({ cursor, signal }: LoadContext): AsyncGenerator<DocumentBatch> {
    let after = typeof cursor?.after === 'string' ? cursor.after : '';
    for (;;) {
      const names = [...this.documents.keys()].sort().filter((name) => name > after);
      const batch = names.slice(0, this.batchSize);
      await this.onBatch(batch, signal);
      this.loaded.push(...batch);
      const documents = batch.map((name) => toDocument(name, this.documents.get(name) ?? ''));
      after = batch.at(-1) ?? after;
      const isLast = names.length <= this.batchSize;
      yield { documents, cursor: { after }, ...(isLast && this.end ? { end: this.end } : {}) };
      if (isLast) return;
    }
  }
}

function toDocument(name: string, entry: Entry): LoadedDocument {
  if (typeof entry !== 'string') return entry;
  const contentHash = sha256(entry);
  return { kind: 'text', uri: name, title: name, text: entry, contentHash, mediaType: 'text/markdown' };
}

export interface Kb extends KbKey {
  shelf: Shelf;
  sourceId: string;
}

export interface Contents {
  documents: { uri: string; state: string; chunks: string[] }[];
  /** All texts of the generation that serves, whoever links to them. */
  texts: string[];
}

/** Runs of knowledge bases on real kernels, whose steps a test can inspect, stop or take over. */
export function useKnowledgeRuns(database: TestDatabase) {
  const kernels: Kernel[] = [];
  const shelves = new Map<string, Shelf>();
  let office: Kernel | undefined;
  const theOffice = (): Kernel => {
    if (!office) throw new Error('The kernel is available only after beforeAll has run');
    return office;
  };
  beforeAll(async () => {
    office = testKernel(database, { pipelines: [knowledgePipeline(depsOf(database, shelves, {}).deps)] });
    await office.start({ work: false });
  });
  afterEach(async () => {
    await Promise.all(kernels.splice(0).map((kernel) => kernel.stop(1_000)));
  });
  afterAll(() => office?.stop(1_000));

  return {
    async start(options: RunOptions = {}): Promise<Run> {
      const { hooks = {}, sliceMs: _ms, embedder: _e, work = false, ...rest } = options;
      const made = depsOf(database, shelves, options);
      const real = knowledgePipeline(made.deps);
      const kernel = testKernel(database, {
        leaseMs: 30_000,
        ...rest,
        pipelines: [watchSteps(real, hooks)],
      });
      kernels.push(kernel);
      await kernel.start({ work });
      return { ...made, kernel };
    },
    newKb: (shelf: Shelf, options: { chunker?: ChunkerSettings } = {}) =>
      newKb(database, shelves, { shelf, ...options }),
    addShelf: (kb: Kb, shelf: Shelf) => addShelf(database, shelves, { ...kb, shelf }),
    run: (kb: KbKey, payload: Record<string, unknown> = {}) =>
      dispatch(theOffice(), kb.tenantId, {
        pipeline: 'knowledge',
        subjectId: kb.kbId,
        maxRetries: 5,
        createdBy: 'tester',
        payload: { kbId: kb.kbId, ...payload },
      }),
    runReference: (kb: KbKey, referenceId: string) =>
      dispatch(theOffice(), kb.tenantId, {
        pipeline: 'knowledge',
        subjectId: referenceId,
        maxRetries: 5,
        createdBy: 'tester',
        payload: { kbId: kb.kbId, referenceId },
      }),
    cancel: (job: Job) => cancel(theOffice(), job),
    pause: (job: Job) => pause(theOffice(), job),
    resume: (job: Job) => resume(theOffice(), job),
    job: ({ jobId }: { jobId: string }) => findRow(database, jobId),
    contents: (kb: KbKey) => readContents(database, kb),
    /** Makes everything that waits due now. */
    bringForward: ({ jobId }: { jobId: string }) =>
      database.owner(
        `update ingestion_jobs
            set run_at = clock_timestamp(), next_retry_at = case when status = 'failed' then clock_timestamp() end
          where job_id = $1`,
        [jobId],
      ),
  };
}

/** A machine that stalls for seconds must not end a slice where no test expects it. */
const unhurriedMs = 60_000;

/** Acts like a process that dies: the slice writes nothing more, and another worker may claim the job. */
export function crash(): never {
  throw databaseErrors.raise.database_unavailable('The test has cut the worker off');
}

export interface JobRow {
  status: string;
  stage: string | null;
  error_code: string | null;
  error_message: string | null;
  checkpoint: Record<string, unknown>;
  counters: Record<string, number>;
  cleanup_open: boolean;
  finished_at: Date | null;
  run_at: Date;
  retry_count: number;
  leased_by: string | null;
}

async function findRow(database: TestDatabase, jobId: string): Promise<JobRow> {
  const [row] = await database.owner<JobRow>('select * from ingestion_jobs where job_id = $1', [jobId]);
  if (!row) throw new Error(`There is no job ${jobId}`);
  return row;
}

function depsOf(database: TestDatabase, shelves: Map<string, Shelf>, options: RunOptions) {
  const delays: number[] = [];
  const embedder = options.embedder ?? new TestEmbedder();
  const logger = options.logger ?? pino({ level: 'silent' });
  const deps: KnowledgeWorkerDeps = {
    db: database.db,
    logger,
    metrics: new KnowledgeMetrics(new Registry()),
    breakers: new CircuitBreakers({ db: database.db, logger }),
    engine: new ExactEngine({ cacheBytes: 1_000_000 }),
    embedders: { get: () => embedder },
    fingerprintOf,
    createChunker: options.createChunker ?? paragraphs,
    openSource:
      options.openSource ?? ((_kb, { sourceId }) => shelves.get(sourceId)?.open() ?? new Shelf().open()),
    sliceMs: options.sliceMs ?? unhurriedMs,
    wait:
      options.wait ??
      (async (delayMs, signal) => {
        signal.throwIfAborted();
        delays.push(delayMs);
      }),
  };
  return { deps, embedder, delays };
}

async function newKb(
  database: TestDatabase,
  shelves: Map<string, Shelf>,
  { shelf, chunker = { strategy: 'markdown', maxTokens: 110 } }: { shelf: Shelf; chunker?: ChunkerSettings },
): Promise<Kb> {
  const tenantId = await newTenant(database);
  const kbId = `kb-${newId()}`;
  await database.db.tenant(tenantId, (tx) =>
    insertKb(tx, {
      tenantId,
      kbId,
      name: 'Test',
      chunker,
      embedder: { provider: 'custom', name: 'test' },
      language: 'english',
      createdBy: 'tester',
    }),
  );
  const sourceId = await addShelf(database, shelves, { tenantId, kbId, shelf });
  return { tenantId, kbId, shelf, sourceId };
}

async function addShelf(
  database: TestDatabase,
  shelves: Map<string, Shelf>,
  { tenantId, kbId, shelf }: KbKey & { shelf: Shelf },
): Promise<string> {
  const sourceId = newId();
  shelves.set(sourceId, shelf);
  await database.db.tenant(tenantId, (tx) =>
    insertSource(tx, { tenantId, kbId, sourceId, type: 'folder', settings: {} }),
  );
  return sourceId;
}

/** Directly in the database. */
async function readContents(database: TestDatabase, { tenantId, kbId }: KbKey): Promise<Contents> {
  const documents = await database.owner<Contents['documents'][number]>(
    `select d.uri, d.state,
            array(select e.text
                    from knowledge_links l
                    join embeddings_index e on e.tenant_id = l.tenant_id and e.chunk_id = l.chunk_id
                   where l.tenant_id = d.tenant_id and l.document_id = d.document_id and l.revision = d.revision
                     and e.generation = d.generation
                   order by l.ordinal) as chunks
       from knowledge_documents d
       join knowledge_bases b using (tenant_id, kb_id, generation)
      where d.tenant_id = $1 and d.kb_id = $2
      order by d.uri`,
    [tenantId, kbId],
  );
  const texts = await database.owner<{ text: string }>(
    `select e.text from embeddings_index e join knowledge_bases b using (tenant_id, kb_id, generation)
      where e.tenant_id = $1 and e.kb_id = $2 order by e.text`,
    [tenantId, kbId],
  );
  return { documents, texts: texts.map(({ text }) => text) };
}

function watchSteps(real: Pipeline, hooks: RunHooks): Pipeline {
  const watched = sliceWatcher(hooks);
  return {
    ...real,
    advance: (slice) => real.advance(watched(slice)),
    cleanUp: (slice) => real.cleanUp?.(watched(slice)) ?? Promise.reject(new Error('There is no cleanup')),
  };
}

/** The product's own chunker, in words. */
export function realChunker(settings: ChunkerSettings): Chunker {
  return createChunker(settings, { countTokens: (text) => text.split(/\s+/).filter(Boolean).length });
}
