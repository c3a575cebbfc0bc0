import { bytes, milliseconds, text, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

const mebibyte = 1024 * 1024;

export const knowledgeSettings = {
  knowledgeFolderRoot: setting('KNOWLEDGE_FOLDER_ROOT', text({ max: 4_000 }), {
    describe:
      'Each tenant may use folders as sources that lie in the folder with its tenant id below this one. Unset: none.',
  }),
  knowledgeMaxFileBytes: setting('KNOWLEDGE_MAX_FILE_BYTES', bytes({ min: 1024, max: 1024 * mebibyte }), {
    default: 100 * mebibyte,
    describe: 'The largest document that a knowledge base accepts, as a file or from a folder.',
  }),
  knowledgeOcrCommand: setting('KNOWLEDGE_OCR_COMMAND', text({ max: 1_000 }), {
    default: 'tesseract',
    describe:
      'Reads images and scans, called as tesseract is; if it is missing, documents say so. `off`: nothing does.',
  }),
  knowledgeOcrLanguages: setting('KNOWLEDGE_OCR_LANGUAGES', text({ max: 200 }), {
    default: 'eng',
    describe: 'The languages of images and scans, such as `eng+deu`; each must be installed for the program.',
  }),
  knowledgeMaxBases: setting('KNOWLEDGE_MAX_BASES', wholeNumber({ min: 1, max: 1_000_000 }), {
    default: 1_000,
    describe: 'How many knowledge bases a tenant may have.',
  }),
  knowledgeMaxSources: setting('KNOWLEDGE_MAX_SOURCES', wholeNumber({ min: 1, max: 10_000 }), {
    default: 100,
    describe: 'How many sources a knowledge base may have besides its files.',
  }),
  knowledgeMaxFiles: setting('KNOWLEDGE_MAX_FILES', wholeNumber({ min: 1, max: 10_000_000 }), {
    default: 100_000,
    describe: 'How many files a knowledge base may have.',
  }),
  knowledgeSliceMs: setting('KNOWLEDGE_SLICE_MS', milliseconds({ min: 50, max: 600_000 }), {
    default: 5_000,
    describe: 'How long a slice of a knowledge run works before other jobs get their turn.',
  }),
  knowledgeVectorCacheBytes: setting(
    'KNOWLEDGE_VECTOR_CACHE_BYTES',
    bytes({ min: 0, max: 64 * 1024 * mebibyte }),
    {
      default: 256 * mebibyte,
      describe: 'How much memory a process may use to keep vectors for searches without pgvector.',
    },
  ),
};

/** The part of docs/configuration.md about `embedders` in the config file. */
export const embeddersPage = `It can also define your own embedders, for knowledge bases with
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

/** The part of docs/configuration.md about `rerankers` in the config file. */
export const rerankersPage = `It can also define what orders the results of searches anew, for knowledge bases with
\`"reranker": {"provider": "custom", "name": "house"}\`:

\`\`\`js
// sluice.config.mjs
import { defineReranker } from 'sluice';

const house = defineReranker({
  name: 'house',
  rerank: (query, texts, { signal }) => scoresOfTheModel(query, texts, signal),
});
export default { rerankers: [house] };
\`\`\``;
