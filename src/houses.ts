import type { House } from './kernel/house/house.ts';

/** Every house of this installation. A new one is a folder in src/ingest and a line here; nothing else names them. */
export const houses: readonly House[] = [
  (await import('./ingest/items/house.ts')).itemHouse,
  (await import('./ingest/catalog/house.ts')).catalogHouse,
  (await import('./ingest/uploads/house.ts')).uploadHouse,
  (await import('./ingest/connectors/house.ts')).connectorHouse,
  (await import('./ingest/knowledge/house.ts')).knowledgeHouse,
  (await import('./ingest/scrapes/house.ts')).scrapeHouse,
  (await import('./ingest/adapters/house.ts')).adapterHouse,
  (await import('./ingest/own/house.ts')).ownHouse,
];

/** What users of the library may define for them. */
export {
  defineProcessor,
  type OptionsSchema,
  type ProcessorDefinition,
} from './ingest/items/processing/processors/custom/define-processor.ts';
export type {
  ErrorClass,
  ItemError,
  ItemInput,
  ItemOutcome,
  ProcessorContext,
} from './ingest/items/processing/processors/types.ts';
export { defineEmbedder, type EmbedderDefinition } from './ingest/knowledge/embedders/define-embedder.ts';
export { defineReranker, type RerankerDefinition } from './ingest/knowledge/rerankers/define-reranker.ts';
export { definePipeline, defineTask } from './ingest/own/definitions/define.ts';
export type { InputOf, OutputOf, Schema } from './ingest/own/definitions/schema.ts';
export type {
  Concurrency,
  EffectsTx,
  OwnDefinition,
  OwnJob,
  OwnOutcome,
  OwnSlice,
  OwnSliceResult,
  PipelineDefinition,
  RetryRule,
  RetryRules,
  Schedule,
  StepContext,
  TaskContext,
  TaskDefinition,
} from './ingest/own/types.ts';
