drop index ix_ingestion_jobs_knowledge;
drop trigger knowledge_counters_add_up on ingestion_jobs;
drop function knowledge_counters_add_up();
drop function search_chunk_texts(text, text, integer, text, integer);
-- Made beside the migrations where the database has pgvector.
drop table if exists embeddings_vectors;
drop table knowledge_frontier, knowledge_links, embeddings_index, knowledge_documents, knowledge_generations,
  knowledge_files, knowledge_sources, knowledge_bases;
