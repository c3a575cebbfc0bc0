import { bytes, milliseconds, text, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

const mebibyte = 1024 * 1024;

export const knowledgeSettings = {
  knowledgeFolderRoot: setting('KNOWLEDGE_FOLDER_ROOT', text({ max: 4_000 }), {
    describe:
      'A tenant’s folders may be sources that lie below this one, in one with the name of the tenant. Unset: none.',
  }),
  knowledgeMaxFileBytes: setting('KNOWLEDGE_MAX_FILE_BYTES', bytes({ min: 1024, max: 1024 * mebibyte }), {
    default: 100 * mebibyte,
    describe: 'The largest document that a knowledge base takes, as a file or from a folder.',
  }),
  knowledgeMaxBases: setting('KNOWLEDGE_MAX_BASES', wholeNumber({ min: 1, max: 1_000_000 }), {
    default: 1_000,
    describe: 'How many knowledge bases a tenant may have.',
  }),
  knowledgeMaxSources: setting('KNOWLEDGE_MAX_SOURCES', wholeNumber({ min: 1, max: 10_000 }), {
    default: 100,
    describe: 'How many sources a knowledge base may have, beside its files.',
  }),
  knowledgeMaxFiles: setting('KNOWLEDGE_MAX_FILES', wholeNumber({ min: 1, max: 10_000_000 }), {
    default: 100_000,
    describe: 'How many files a knowledge base may have.',
  }),
  knowledgeSliceMs: setting('KNOWLEDGE_SLICE_MS', milliseconds({ min: 50, max: 600_000 }), {
    default: 5_000,
    describe: 'How long a slice of a knowledge run should take before others get their turn.',
  }),
  knowledgeVectorCacheBytes: setting(
    'KNOWLEDGE_VECTOR_CACHE_BYTES',
    bytes({ min: 0, max: 64 * 1024 * mebibyte }),
    {
      default: 256 * mebibyte,
      describe: 'How much memory of a process holds vectors for searches without pgvector.',
    },
  ),
};

/** What docs/configuration.md says of the config file's `embedders`. */
export const embeddersPage = `It can bring embedders of your own as well, for knowledge bases with
\`{"provider": "custom", "name": "house"}\`:

\`\`\`js
// sluice.config.mjs
import { defineEmbedder } from 'sluice';

const house = defineEmbedder({
  name: 'house',
  model: 'house-v1',
  dimensions: 384,
  embed: (texts, { signal }) => askTheModelServer(texts, signal),
});
export default { embedders: [house] };
\`\`\``;
