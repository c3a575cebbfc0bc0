/** What users may define for the houses. Its types load nothing of the houses themselves. */
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
