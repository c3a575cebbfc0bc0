-- The old tables are up to date: the triggers have copied every row.
drop table crawl_frontier;
drop trigger knowledge_frontier_added on knowledge_frontier;
drop trigger knowledge_frontier_visited on knowledge_frontier;
drop trigger knowledge_frontier_gone on knowledge_frontier;
drop trigger scrape_frontier_added on scrape_frontier;
drop trigger scrape_frontier_visited on scrape_frontier;
drop trigger scrape_frontier_gone on scrape_frontier;
drop function copy_frontier_to_new(), copy_frontier_to_old(), delete_frontier_copies();
