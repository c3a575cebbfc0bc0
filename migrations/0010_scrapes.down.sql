drop table scrape_frontier, scrape_references, scrape_runs, scrape_sources;
