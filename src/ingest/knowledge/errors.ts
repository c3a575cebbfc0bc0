import { defineErrors } from '../../lib/errors.ts';

/** Errors of API requests about knowledge bases. Errors of documents are in formats/errors.ts. */
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
    title: 'A knowledge base with this id already exists',
    next: 'Use the existing one, or omit kb_id.',
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
    title: 'The limit is reached',
    next: 'Delete what you no longer need, or ask the operator to raise the limit named in the message.',
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
    title: 'Folders cannot be sources on this server',
    next: 'Ask the operator to set KNOWLEDGE_FOLDER_ROOT, and name a folder in your tenant’s folder below it.',
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
    title: 'The document comes from a source and cannot be deleted on its own',
    next: 'Remove it from its source, or delete the source; the next run removes it from the index.',
  },
  knowledge_embedder_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'There is no such embedder',
    next: 'Use an embedder named in the message, or define yours in sluice.config.mjs with defineEmbedder.',
  },
  knowledge_file_missing: {
    kind: 'invalid',
    status: 400,
    title: 'The form has no file',
    next: 'Send multipart/form-data with at least one file.',
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
    next: 'Send multipart/form-data with files and no other fields. Nothing was stored.',
  },
  search_query_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The search query is not valid',
    next: 'Send words or a question of at most 8,000 characters, without NUL characters and broken surrogate pairs.',
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
    next: 'Repeat the search; the embedder or the database may be busy with runs.',
  },
  vector_dimensions_differ: {
    kind: 'conflict',
    status: 409,
    title: 'The vectors of the embedder do not fit the index',
    next: 'Start a run: it embeds the knowledge base again, and searches then use the new index.',
  },
  run_finishing: {
    kind: 'conflict',
    status: 409,
    title: 'The run has read everything and is activating its result',
    next: 'Wait until it is completed; it takes seconds. To undo it, change the sources and start another run.',
  },
});

/** Why a run has failed or is paused. */
export const knowledgeFailures = defineErrors({
  kb_gone: {
    kind: 'not_found',
    status: 404,
    title: 'The knowledge base was deleted while it was being loaded',
    next: 'Nothing to do: the knowledge base no longer exists.',
  },
  budget_exhausted: {
    kind: 'conflict',
    status: 409,
    title: 'The run has used up its budget and is paused',
    next: 'Resume the run to grant the same budget again, or cancel it and start one with a larger budget.',
  },
  settings_changed: {
    kind: 'conflict',
    status: 409,
    title: 'The embedder or the chunker was changed, and the index is not rebuilt yet',
    next: 'Start a run of the whole knowledge base; references are handed over again afterwards.',
  },
  generation_incomplete: {
    kind: 'conflict',
    status: 409,
    title: 'The new index lacks documents that the old one has, so searches still use the old one',
    next: 'Fix the sources named in the message and start another run; it continues with what is already built.',
  },
  chunk_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The embedder refused a chunk',
    next: 'Check the passage named in the reason of the document; all other chunks of the document are indexed.',
  },
});
