import { defineErrors } from '../../lib/errors.ts';

/** What a caller of the API can do wrong with knowledge bases. What is wrong with a document is in formats/. */
export const knowledgeErrors = defineErrors({
  knowledge_base_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such knowledge base',
    next: 'Check the id; GET /api/knowledge lists the knowledge bases of your tenant.',
  },
  knowledge_base_exists: {
    kind: 'conflict',
    status: 409,
    title: 'There is a knowledge base with this id already',
    next: 'Use the one that is there, or leave kb_id out.',
  },
  knowledge_base_busy: {
    kind: 'conflict',
    status: 409,
    title: 'The knowledge base has an active run',
    next: 'Wait for the run in active_job_id, or cancel it first.',
  },
  knowledge_run_missing: {
    kind: 'conflict',
    status: 409,
    title: 'The knowledge base has never run',
    next: 'Start a run with POST /api/ingestion/jobs/{kb_id}/start.',
  },
  knowledge_limit_reached: {
    kind: 'invalid',
    status: 422,
    title: 'There are as many as there may be',
    next: 'Delete what is not needed any more, or ask the operator to raise the limit that the message names.',
  },
  knowledge_source_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such source',
    next: 'Check the id; GET /api/knowledge/{kb_id}/sources lists the sources.',
  },
  knowledge_source_fixed: {
    kind: 'invalid',
    status: 422,
    title: 'This source cannot be deleted',
    next: 'Delete the files in it with DELETE /api/knowledge/{kb_id}/documents/{file_id}.',
  },
  knowledge_folder_refused: {
    kind: 'invalid',
    status: 422,
    title: 'A folder cannot be a source here',
    next: 'Name a folder in the tenant’s own below the one of the operator (KNOWLEDGE_FOLDER_ROOT).',
  },
  knowledge_document_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such document',
    next: 'Check the id; GET /api/knowledge/{kb_id}/documents and …/files list them.',
  },
  knowledge_document_not_a_file: {
    kind: 'invalid',
    status: 422,
    title: 'The document comes from a source and cannot be deleted by itself',
    next: 'Take it out of its source, or delete the source; the next run takes it out of the index.',
  },
  knowledge_embedder_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'There is no such embedder',
    next: 'Use one of those that the message names, or bring it in sluice.config.mjs with defineEmbedder.',
  },
  knowledge_file_missing: {
    kind: 'invalid',
    status: 400,
    title: 'The form has no file',
    next: 'Send multipart/form-data with one or more parts that are files.',
  },
  knowledge_file_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The file is too large',
    next: 'Split the document and add the parts. Nothing was stored.',
  },
  knowledge_form_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The form cannot be read',
    next: 'Send multipart/form-data whose parts are files. Nothing was stored.',
  },
  search_query_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The query cannot be searched for',
    next: 'Send words or a question of at most 8,000 characters, without NUL and half characters.',
  },
  search_index_moved: {
    kind: 'transient',
    status: 503,
    title: 'The index was replaced while it was being searched',
    next: 'Repeat the search.',
  },
  search_timed_out: {
    kind: 'transient',
    status: 503,
    title: 'The search took too long',
    next: 'Repeat it; the embedder or the database may be busy with runs.',
  },
  vector_dimensions_differ: {
    kind: 'conflict',
    status: 409,
    title: 'The embedder makes other vectors than those in the index',
    next: 'Start a run: the knowledge base is embedded anew, and searches are answered from that index then.',
  },
  run_finishing: {
    kind: 'conflict',
    status: 409,
    title: 'The run has read everything and is putting its result in place',
    next: 'Wait until it is completed; it takes seconds. To undo it, change the sources and start another run.',
  },
});

/** Why a run has ended, or rests. */
export const knowledgeFailures = defineErrors({
  kb_gone: {
    kind: 'not_found',
    status: 404,
    title: 'The knowledge base was deleted while it was being loaded',
    next: 'Nothing to do: there is nothing left to load into.',
  },
  budget_exhausted: {
    kind: 'conflict',
    status: 409,
    title: 'The run has used up its budget and is paused',
    next: 'Resume it: it may then use the same budget once more. Or cancel it and start it with a larger one.',
  },
  settings_changed: {
    kind: 'conflict',
    status: 409,
    title: 'Embedder or chunker were changed, and the index was not yet built anew',
    next: 'Start a run of the whole knowledge base; references are handed over again after it.',
  },
  generation_incomplete: {
    kind: 'conflict',
    status: 409,
    title: 'The new index lacks documents that the old one has, so that the old one still answers',
    next: 'Mend the sources that the message names and start another run: it goes on with what is built already.',
  },
  chunk_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The embedder refuses a chunk',
    next: 'Look at the passage that the document’s reason names; every other chunk of the document is indexed.',
  },
});
