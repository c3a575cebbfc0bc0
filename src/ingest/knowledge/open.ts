import type { ReferenceDoor, ReferenceReader } from '../../kernel/house/doors.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import { kbRemovalTask } from './bases/kb-removal.ts';
import type { CountTokens } from './chunkers/chunker.ts';
import { createChunker } from './chunkers/create-chunker.ts';
import { admitReferences, kbMadeAt } from './documents/reference-intake.ts';
import type { EmbedderDefinition } from './embedders/define-embedder.ts';
import { loadTokenCounter } from './embedders/local-assets.ts';
import { fingerprintOf, openEmbedders } from './embedders/open-embedder.ts';
import { knowledgeFindables } from './find-store.ts';
import { closeDocumentReader, readDocument } from './formats/read-document.ts';
import type { VectorEngine } from './index/vector/engine.ts';
import { openVectorEngine } from './index/vector/open-engine.ts';
import { wordCountingTask } from './index/word-counting.ts';
import { KnowledgeMetrics } from './metrics.ts';
import { knowledgePipeline } from './pipeline.ts';
import type { RerankerDefinition } from './rerankers/define-reranker.ts';
import { openRerankers } from './rerankers/open-reranker.ts';
import { knowledgeRoutes } from './routes.ts';
import type { KnowledgeWorkerDeps } from './run/deps.ts';
import { createSearchTurns } from './search/search.ts';
import type { KnowledgeLimits } from './service.ts';
import type { knowledgeSettings } from './settings.ts';
import { openSource } from './sources/open-source.ts';
import { listBaseNames } from './store.ts';

export interface KnowledgeHouseOptions
  extends Pick<Ground, 'db' | 'files' | 'logger' | 'registry' | 'fetch' | 'breakers' | 'secrets' | 'kernel'>,
    Omit<SettingValues<typeof knowledgeSettings>, 'knowledgeVectorCacheBytes'> {
  engine: VectorEngine;
  /** In pieces of the built-in model, for chunkers and estimates. */
  countTokens: CountTokens;
  /** Of the config file, beside the built-in ones. */
  customEmbedders?: readonly EmbedderDefinition[] | undefined;
  customRerankers?: readonly RerankerDefinition[] | undefined;
  /** What scrapes hand over. Absent: nobody scrapes here. */
  references?: ReferenceReader | null;
  /** Where recorded answers of the real one are served. */
  youtubeBaseUrl?: string | undefined;
}

/** What has to be asked of the database or read from disk before the house can open. */
export async function openParts({ db, logger }: Ground, { cacheBytes }: { cacheBytes: number }) {
  const referenceIntake: ReferenceDoor = {
    admit: admitReferences,
    madeAt: kbMadeAt,
    readPage: ({ isHtml, ...page }, signal) =>
      readDocument({ ...page, ...(isHtml ? { kind: 'html' } : {}) }, { signal }),
  };
  const engine = await openVectorEngine({ db, logger, cacheBytes });
  return { engine, countTokens: await loadTokenCounter(), referenceIntake };
}

export type KnowledgeHouse = ReturnType<typeof openKnowledgeHouse>;

export function openKnowledgeHouse(options: KnowledgeHouseOptions) {
  const { db, files, logger, fetch, breakers, engine, countTokens, customEmbedders = [] } = options;
  const { knowledgeFolderRoot: folderRoot, knowledgeMaxFileBytes: maxFileBytes } = options;
  const metrics = new KnowledgeMetrics(options.registry);
  const embedders = openEmbedders({
    fetch,
    secrets: options.secrets,
    countTokens,
    custom: customEmbedders,
  });
  const { customRerankers = [] } = options;
  const rerankers = openRerankers({ fetch, secrets: options.secrets, breakers, custom: customRerankers });
  const { references = null, youtubeBaseUrl } = options;
  const { secrets, knowledgeOcrCommand: command, knowledgeOcrLanguages: languages } = options;
  const ocr = command === 'off' ? null : { command, languages };
  const sourceDeps = { db, files, fetch, secrets, ocr, folderRoot, maxFileBytes, references, youtubeBaseUrl };
  const worker: KnowledgeWorkerDeps = {
    db,
    logger,
    metrics,
    breakers,
    engine,
    embedders,
    fingerprintOf,
    createChunker: (settings) => createChunker(settings, { countTokens }),
    openSource: (_kb, source, wish) => openSource(sourceDeps, source, wish),
    sliceMs: options.knowledgeSliceMs,
  };
  const pipeline = knowledgePipeline(worker);
  const service = {
    db,
    files,
    secrets: options.secrets,
    folderRoot,
    maxFileBytes,
    limits: limitsOf(options),
    customEmbedders: customEmbedders.map(({ name }) => name),
    customRerankers: customRerankers.map(({ name }) => name),
  };
  return {
    pipeline,
    findables: knowledgeFindables,
    subjectNames: listBaseNames,
    rowCounter: 'chunks_processed',
    routes: [
      knowledgeRoutes({
        ...service,
        ...options.kernel.jobs,
        plan: worker,
        search: { db, engine, embedders, rerankers, turns: createSearchTurns() },
      }),
    ],
    tasks: [kbRemovalTask({ db, files }), wordCountingTask({ db })],
    close: async () => {
      pipeline.close();
      await Promise.all([embedders.close(), rerankers.close(), closeDocumentReader()]);
    },
  } satisfies OpenHouse;
}

function limitsOf(options: KnowledgeHouseOptions): KnowledgeLimits {
  return {
    maxBases: options.knowledgeMaxBases,
    maxSources: options.knowledgeMaxSources,
    maxFiles: options.knowledgeMaxFiles,
  };
}
