import type { Registry } from 'prom-client';
import type { Files } from '../../kernel/files/types.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import type { JobsDeps } from '../../kernel/jobs/service.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import type { CircuitBreakers } from '../../kernel/limits/circuit-breaker.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { kbRemovalTask } from './bases/kb-removal.ts';
import type { CountTokens } from './chunkers/chunker.ts';
import { createChunker } from './chunkers/create-chunker.ts';
import type { EmbedderDefinition } from './embedders/define-embedder.ts';
import { fingerprintOf, openEmbedders } from './embedders/open-embedder.ts';
import { closeDocumentReader } from './formats/read-document.ts';
import type { VectorEngine } from './index/vector/engine.ts';
import { KnowledgeMetrics } from './metrics.ts';
import { knowledgePipeline } from './pipeline.ts';
import { knowledgeRoutes } from './routes.ts';
import type { KnowledgeWorkerDeps } from './run/deps.ts';
import type { KnowledgeLimits } from './service.ts';
import { openSource } from './sources/open-source.ts';
import type { ReferenceReader } from './sources/reference.ts';

export interface KnowledgeHouseOptions {
  db: Database;
  files: Files;
  wake: WakeUp;
  logger: Logger;
  registry: Registry;
  fetch: GuardedFetch;
  breakers: CircuitBreakers;
  secretOf(tenantId: string, name: string): Promise<string>;
  engine: VectorEngine;
  /** Counts tokens of the built-in model, for chunkers and estimates. */
  countTokens: CountTokens;
  /** From the config file, in addition to the built-in ones. */
  customEmbedders?: readonly EmbedderDefinition[] | undefined;
  /** Reads what scrapes hand over; null if scrapes are not part of the program. */
  references?: ReferenceReader | null;
  /** For tests: a server with recorded responses of YouTube. */
  youtubeBaseUrl?: string | undefined;
  knowledgeFolderRoot: string | null;
  knowledgeMaxFileBytes: number;
  knowledgeMaxBases: number;
  knowledgeMaxSources: number;
  knowledgeMaxFiles: number;
  knowledgeSliceMs: number;
}

/** The house of knowledge, wired. */
export interface KnowledgeHouse {
  pipeline: Pipeline;
  routes(kernel: JobsDeps): RouteModule[];
  tasks: UpkeepTask[];
  close(): Promise<void>;
}

export function openKnowledgeHouse(options: KnowledgeHouseOptions): KnowledgeHouse {
  const { db, files, logger, fetch, breakers, engine, countTokens, customEmbedders = [] } = options;
  const { knowledgeFolderRoot: folderRoot, knowledgeMaxFileBytes: maxFileBytes } = options;
  const metrics = new KnowledgeMetrics(options.registry);
  const embedders = openEmbedders({
    fetch,
    secrets: { get: options.secretOf },
    countTokens,
    custom: customEmbedders,
  });
  const { references = null, youtubeBaseUrl } = options;
  const sourceDeps = { db, files, fetch, folderRoot, maxFileBytes, references, youtubeBaseUrl };
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
    engine,
    files,
    folderRoot,
    maxFileBytes,
    limits: limitsOf(options),
    customEmbedders: customEmbedders.map(({ name }) => name),
  };
  return {
    pipeline,
    routes: (kernel) => [
      knowledgeRoutes({
        ...service,
        wake: kernel.wake,
        registry: kernel.registry,
        metrics: kernel.metrics,
        quotas: kernel.quotas,
        plan: worker,
        search: { db, engine, embedders },
      }),
    ],
    tasks: [kbRemovalTask({ db, files, engine })],
    close: async () => {
      pipeline.close();
      await Promise.all([embedders.close(), closeDocumentReader()]);
    },
  };
}

function limitsOf(options: KnowledgeHouseOptions): KnowledgeLimits {
  return {
    maxBases: options.knowledgeMaxBases,
    maxSources: options.knowledgeMaxSources,
    maxFiles: options.knowledgeMaxFiles,
  };
}
