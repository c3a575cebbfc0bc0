import type { Pipeline } from '../../kernel/jobs/types.ts';
import { crawlRetries, pipelineName } from './types.ts';
import { advanceCrawl, type CrawlDeps, cleanUpCrawl, endCanceledRun, outcomeOf } from './worker.ts';

/** Crawls as a pipeline of the kernel. */
export function scrapePipeline(deps: CrawlDeps): Pipeline {
  return {
    name: pipelineName,
    maxRetries: crawlRetries,
    advance: (slice) => advanceCrawl(deps, slice),
    cleanUp: cleanUpCrawl,
    onCancel: endCanceledRun,
    onError: outcomeOf,
    remaining: () => null,
  };
}
