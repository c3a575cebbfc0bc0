/** What `import … from 'sluice'` gives. */
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
