import type { Client } from '../../../cli/client/client.ts';
import { follow } from '../../../cli/client/follow.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { CommandFailure, type ExitCode, exitCodes } from '../../../cli/terminal/exit.ts';
import { grouped } from '../../../cli/terminal/progress.ts';
import type { renderItemJob } from '../views.ts';

/** A job with items as the API shows it. */
export type ItemJobView = ReturnType<typeof renderItemJob>;

/** Follows the counts of a job until it has ended. */
export function watchItems(
  client: Client,
  { jobId, isSilent, signal }: { jobId: string; isSilent: boolean; signal: AbortSignal },
): Promise<ItemJobView> {
  const paused = `Job ${jobId} is paused; \`sluice jobs resume ${jobId}\` lets it go on.`;
  return follow(() => readJob(client, { jobId, signal }), {
    signal,
    isSilent,
    mustBeThere: true,
    stageOf: (job) => {
      if (hasEnded(job)) return null;
      const words = job.status === 'paused' ? paused : '';
      return { words, done: job.processedItems, total: job.totalItems };
    },
  });
}

async function readJob(
  client: Client,
  { jobId, signal }: { jobId: string; signal: AbortSignal },
): Promise<ItemJobView> {
  const job = await client.get<Partial<ItemJobView>>(`/api/jobs/${jobId}`, { signal });
  if (job.totalItems !== undefined) return job as ItemJobView;
  throw new CommandFailure(
    `Job ${jobId} is of the pipeline ${shortText(String(job.pipeline), 50)}: it has no items.`,
    { exitCode: exitCodes.failed, next: `\`sluice jobs watch ${jobId}\` follows a job of any pipeline.` },
  );
}

/** The open rows of a canceled job are skipped first. */
function hasEnded({ queueState, cleanupOpen }: ItemJobView): boolean {
  return queueState === 'DONE' || (queueState === 'FAILED' && !cleanupOpen);
}

export function exitCodeOfItems({ queueState, failedItems }: ItemJobView): ExitCode {
  if (queueState !== 'DONE') return exitCodes.failed;
  return failedItems > 0 ? exitCodes.someRowsFailed : exitCodes.ok;
}

/** `Job <id> has ended: 2,500 rows, 2,498 done, 1 failed, 1 not found, 0 skipped.` */
export function describeEnd(job: ItemJobView): string {
  const { DONE, ERROR, NOT_FOUND, SKIPPED, PENDING, PROCESSING } = job.counts;
  const how =
    job.queueState === 'DONE' ? 'has ended' : job.status === 'canceled' ? 'was canceled' : 'has failed';
  const parts = [
    `${grouped(job.totalItems)} ${job.totalItems === 1 ? 'row' : 'rows'}`,
    `${grouped(DONE)} done`,
    `${grouped(ERROR)} failed`,
    `${grouped(NOT_FOUND)} not found`,
    `${grouped(SKIPPED)} skipped`,
  ];
  if (PENDING + PROCESSING > 0) parts.push(`${grouped(PENDING + PROCESSING)} left`);
  const reason = job.errorMessage === null ? '' : ` ${shortText(job.errorMessage, 300)}`;
  return `Job ${job.jobId} ${how}: ${parts.join(', ')}.${reason}`;
}
