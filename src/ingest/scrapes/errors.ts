import { defineErrors } from '../../lib/errors.ts';

/** Errors of API requests about scrapes. */
export const scrapeErrors = defineErrors({
  scrape_source_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such scrape source',
    next: 'Check the name (GET /api/scraping/sources lists all), or create it with PUT /api/scraping/sources/{source}.',
  },
  scrape_source_busy: {
    kind: 'conflict',
    status: 409,
    title: 'The scrape source has an active crawl',
    next: 'Wait for the job in active_job_id or cancel it, then try again.',
  },
  scrape_source_limit_reached: {
    kind: 'invalid',
    status: 422,
    title: 'The tenant has reached its limit of scrape sources',
    next: 'Delete a source that you no longer need, or ask the operator to raise SCRAPE_MAX_SOURCES.',
  },
  scrape_kb_missing: {
    kind: 'invalid',
    status: 422,
    title: 'The knowledge base of the scrape source does not exist',
    next: 'Create it with POST /api/knowledge, or give the source another kb_id; then sync again.',
  },
  scrape_body_wrong: {
    kind: 'invalid',
    status: 422,
    title: 'The request body does not match the mode of the scrape source',
    next: 'Send references to a push source; sync a crawl source without references.',
  },
  scrape_run_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such run of this scrape source',
    next: 'Check the id; GET /api/scraping/{source}/runs lists the runs.',
  },
  handoffs_unavailable: {
    kind: 'transient',
    status: 503,
    title: 'Hand-offs are disabled',
    next: 'Syncs still store references. Enable hand-offs with `sluice migrate up --feature handoffs`.',
  },
});

/** Why a crawl failed. */
export const scrapeFailures = defineErrors({
  scrape_source_gone: {
    kind: 'not_found',
    status: 404,
    title: 'The scrape source was deleted, or is no longer crawled',
    next: 'Nothing to do. If it was a mistake, create the source again and sync it.',
  },
  scrape_crawl_failed: {
    kind: 'transient',
    status: 503,
    title: 'Nothing could be read from the site',
    next: 'Read the message, check the address of the source, and sync again. Nothing was deleted.',
  },
  scrape_run_abandoned: {
    kind: 'transient',
    status: 503,
    title: 'The process that worked on the run ended before the run did',
    next: 'Sync again; what the run had stored is kept, and nothing is handed over twice.',
  },
});
