import { type Command, Option } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { maxListed, printList, readPages } from '../../../cli/client/lists.ts';
import { wholeNumber } from '../../../cli/terminal/arguments.ts';
import { shortText, shortTime } from '../../../cli/terminal/cells.ts';
import { grouped } from '../../../cli/terminal/progress.ts';
import { jobStatuses } from '../../../kernel/jobs/types.ts';
import type { ItemJobView } from './watch.ts';

const header = ['JOB', 'FILE', 'STATE', 'ROWS', 'FAILED', 'PROCESSOR', 'CREATED'];

export function addList(items: Command): void {
  const list = items
    .command('list')
    .description('List jobs of rows, newest first.')
    .addOption(new Option('--status <status>', 'only with this status').choices(jobStatuses))
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 50);
  addClientFlags(list).action(
    async ({ json, status, limit }: { json?: boolean; status?: string; limit: number }, self: Command) => {
      const client = await connectClient(self);
      const query = { pipeline: 'items', status };
      const page = await readPages<ItemJobView>(client, '/api/jobs', { query, limit });
      printList(page, { json, nothing: 'No job of rows matches.', header, row });
    },
  );
}

function row(job: ItemJobView): string[] {
  const { counts, totalItems, failedItems } = job;
  // Rows that a cancel skipped were not processed.
  const processed = job.processedItems - (job.status === 'canceled' ? counts.SKIPPED : 0);
  return [
    job.jobId,
    shortText(job.fileName, 36),
    stateOf(job),
    `${grouped(processed)} of ${grouped(totalItems)}`,
    failedItems === 0 ? '-' : grouped(failedItems),
    shortText(job.processor, 20),
    shortTime(job.createdAt),
  ];
}

/** As the console says it: an ended job is done, partly done, or all of its rows failed. */
function stateOf({ status, failedItems, counts }: ItemJobView): string {
  if (status !== 'success') return status.replace('_', ' ');
  if (failedItems === 0) return 'done';
  return counts.DONE > 0 || counts.SKIPPED > 0 ? 'partly done' : 'all rows failed';
}
