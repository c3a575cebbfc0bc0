import { conflict, defineErrors, invalid, notFound, transient } from '../../lib/errors.ts';

/** Errors of API requests about knowledge bases. Errors of documents are in formats/errors.ts. */
export const knowledgeErrors = defineErrors({
  knowledge_base_not_found: notFound(
    'There is no such knowledge base',
    'Check the id; GET /api/knowledge lists the knowledge bases of your tenant.',
  ),
  knowledge_base_exists: conflict(
    'A knowledge base with this id already exists',
    'Use the existing one, or omit kb_id.',
  ),
  knowledge_base_busy: conflict(
    'The knowledge base has an active run',
    'Wait for the run in active_job_id, or cancel it first.',
  ),
  knowledge_run_missing: conflict(
    'The knowledge base has never run',
    'Start a run with POST /api/ingestion/jobs/{kb_id}/start.',
  ),
  knowledge_limit_reached: invalid(
    'The limit is reached',
    'Delete what you no longer need, or ask the operator to raise the limit named in the message.',
  ),
  knowledge_source_not_found: notFound(
    'There is no such source',
    'Check the id; GET /api/knowledge/{kb_id}/sources lists the sources.',
  ),
  knowledge_source_fixed: invalid(
    'This source cannot be deleted',
    'Delete the files in it with DELETE /api/knowledge/{kb_id}/documents/{file_id}.',
  ),
  knowledge_folder_refused: invalid(
    'Folders cannot be sources on this server',
    'Ask the operator to set KNOWLEDGE_FOLDER_ROOT, and name a folder in your tenant’s folder below it.',
  ),
  knowledge_document_not_found: notFound(
    'There is no such document',
    'Check the id; GET /api/knowledge/{kb_id}/documents and …/files list them.',
  ),
  knowledge_document_not_a_file: invalid(
    'The document comes from a source and cannot be deleted on its own',
    'Remove it from its source, or delete the source; the next run removes it from the index.',
  ),
  knowledge_embedder_unknown: invalid(
    'There is no such embedder',
    'Use an embedder named in the message, or define yours in sluice.config.mjs with defineEmbedder.',
  ),
  knowledge_reranker_unknown: invalid(
    'There is no such reranker',
    'Use a reranker named in the message, or define yours in sluice.config.mjs with defineReranker.',
  ),
  knowledge_file_missing: invalid(
    'The form has no file',
    'Send multipart/form-data with at least one file.',
    400,
  ),
  knowledge_file_too_large: invalid(
    'The file is too large',
    'Split the document and add the parts. Nothing was stored.',
    413,
  ),
  knowledge_form_invalid: invalid(
    'The form cannot be read',
    'Send multipart/form-data with files, and if needed the fields metadata and allow. Nothing was stored.',
    400,
  ),
  knowledge_filter_refused: invalid(
    'The filter is not valid',
    'Send an object of fields, such as {"team": "sales", "year": {"gte": 2024}}. The message says what is wrong.',
  ),
  knowledge_filter_field_unknown: invalid(
    'No document has a field of the filter',
    'Check the name of the field. Nothing was deleted.',
  ),
  search_query_refused: invalid(
    'The search query is not valid',
    'Send words or a question of at most 8,000 characters, without NUL characters and broken surrogate pairs.',
  ),
  search_index_moved: transient('The index was replaced while it was being searched', 'Repeat the search.'),
  search_timed_out: transient(
    'The search took too long',
    'Repeat the search; the embedder or the database may be busy with runs.',
  ),
  vector_dimensions_differ: conflict(
    'The vectors of the embedder do not fit the index',
    'Start a run: it embeds the knowledge base again, and searches then use the new index.',
  ),
  run_finishing: conflict(
    'The run has read everything and is activating its result',
    'Wait until it is completed; it takes seconds. To undo it, change the sources and start another run.',
  ),
});

/** Why a run has failed or is paused. */
export const knowledgeFailures = defineErrors({
  kb_gone: notFound(
    'The knowledge base was deleted while it was being loaded',
    'Nothing to do: the knowledge base no longer exists.',
  ),
  budget_exhausted: conflict(
    'The run has used up its budget and is paused',
    'Resume the run to grant the same budget again, or cancel it and start one with a larger budget.',
  ),
  settings_changed: conflict(
    'The embedder or the chunker was changed, and the index is not rebuilt yet',
    'Start a run of the whole knowledge base; references are handed over again afterwards.',
  ),
  generation_incomplete: conflict(
    'The new index lacks documents that the old one has, so searches still use the old one',
    'Fix the sources named in the message and start another run; it continues with what is already built.',
  ),
  chunk_refused: invalid(
    'The embedder refused a chunk',
    'Check the passage named in the reason of the document; all other chunks of the document are indexed.',
  ),
});
