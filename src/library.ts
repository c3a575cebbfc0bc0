/** What `import … from 'sluice'` gives: what the houses let others define. */
export {
  defineEmbedder,
  defineProcessor,
  type EmbedderDefinition,
  type ErrorClass,
  type ItemError,
  type ItemInput,
  type ItemOutcome,
  type OptionsSchema,
  type ProcessorContext,
  type ProcessorDefinition,
} from './houses.ts';
