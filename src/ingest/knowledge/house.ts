import { defineHouse } from '../../kernel/house/house.ts';
import { type EmbedderDefinition, findEmbedderProblems } from './embedders/define-embedder.ts';
import { embedderErrors } from './embedders/errors.ts';
import { knowledgeErrors, knowledgeFailures } from './errors.ts';
import { documentErrors } from './formats/errors.ts';
import { findRerankerProblems, type RerankerDefinition } from './rerankers/define-reranker.ts';
import { rerankerErrors } from './rerankers/errors.ts';
import { embeddersPage, knowledgeSettings, rerankersPage } from './settings.ts';
import { gitErrors } from './sources/git/errors.ts';
import { youtubeErrors } from './sources/youtube-errors.ts';

/** Documents: loaded, chunked, embedded, indexed and searched. */
export const knowledgeHouse = defineHouse({
  name: 'knowledge',
  settings: knowledgeSettings,
  definitions: {
    embedders: { findProblems: findEmbedderProblems, page: embeddersPage },
    rerankers: { findProblems: findRerankerProblems, page: rerankersPage },
  },
  errors: [
    { title: 'Knowledge bases', catalogue: knowledgeErrors },
    { title: 'Documents', catalogue: documentErrors },
    { title: 'Embedders', catalogue: embedderErrors },
    { title: 'Rerankers', catalogue: rerankerErrors },
    { title: 'Git repositories', catalogue: gitErrors },
    { title: 'Captions of videos', catalogue: youtubeErrors },
    { title: 'Failed knowledge runs', catalogue: knowledgeFailures },
  ],
  commands: {
    index: async () => (await import('./commands/index-command.ts')).addIndexCommand,
    knowledge: async () => (await import('./commands/knowledge.ts')).addKnowledgeCommand,
    search: async () => (await import('./commands/search.ts')).addSearchCommand,
  },
  prepare: async (ownerUrl, options) => {
    const { preparePgvector } = await import('./index/vector/prepare-pgvector.ts');
    await preparePgvector(ownerUrl, options);
  },
  open: async (ground, config) => {
    const { openKnowledgeHouse, openParts } = await import('./open.ts');
    const customEmbedders = ground.definitions('embedders') as readonly EmbedderDefinition[];
    const parts = await openParts(ground, { cacheBytes: config.knowledgeVectorCacheBytes });
    ground.doors.offer('referenceIntake', parts.referenceIntake);
    return openKnowledgeHouse({
      ...config,
      ...ground,
      ...parts,
      customEmbedders,
      customRerankers: ground.definitions('rerankers') as readonly RerankerDefinition[],
      references: ground.doors.later('references'),
    });
  },
});
