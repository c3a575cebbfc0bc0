import { conflict, defineErrors, invalid, notFound, transient } from '../../lib/errors.ts';

/** Errors of API requests about scrapes. */
export const scrapeErrors = defineErrors({
  scrape_source_not_found: notFound(
    'There is no such scrape source',
    'Check the name (GET /api/scraping/sources lists all), or create it with PUT /api/scraping/sources/{source}.',
  ),
  scrape_source_busy: conflict(
    'The scrape source has an active crawl',
    'Wait for the job in active_job_id or cancel it, then try again.',
  ),
  scrape_source_limit_reached: invalid(
    'The tenant has reached its limit of scrape sources',
    'Delete a source that you no longer need, or ask the operator to raise SCRAPE_MAX_SOURCES.',
  ),
  scrape_kb_missing: invalid(
    'The knowledge base of the scrape source does not exist',
    'Create it with POST /api/knowledge, or give the source another kb_id; then sync again.',
  ),
  scrape_body_wrong: invalid(
    'The request body does not match the mode of the scrape source',
    'Send references to a push source; sync a crawl source without references.',
  ),
  scrape_run_not_found: notFound(
    'There is no such run of this scrape source',
    'Check the id; GET /api/scraping/{source}/runs lists the runs.',
  ),
  handoffs_unavailable: transient(
    'Hand-offs are disabled',
    'Syncs still store references. Enable hand-offs with `sluice migrate up --feature handoffs`.',
  ),
});

/** Why a crawl failed. */
export const scrapeFailures = defineErrors({
  scrape_source_gone: notFound(
    'The scrape source was deleted, or is no longer crawled',
    'Nothing to do. If it was a mistake, create the source again and sync it.',
  ),
  scrape_crawl_failed: transient(
    'Nothing could be read from the site',
    'Read the message, check the address of the source, and sync again. Nothing was deleted.',
  ),
  scrape_run_abandoned: transient(
    'The process that worked on the run ended before the run did',
    'Sync again; what the run had stored is kept, and nothing is handed over twice.',
  ),
});
