import { type Command, Option } from 'commander';
import type { KickoffReport } from '../../../kernel/jobs/run/kickoff.ts';
import { jobStatuses } from '../../../kernel/jobs/types.ts';
import type { queueState } from '../../../kernel/jobs/views.ts';
import { addClientFlags, type Client, connectClient } from '../../client/client.ts';
import { type JobView, watchJobs } from '../../client/job-watch.ts';
import { maxListed, printList, readPages } from '../../client/lists.ts';
import { parseJobId, wholeNumber } from '../../terminal/arguments.ts';
import { shortDuration, shortText, shortTime } from '../../terminal/cells.ts';
import { note, print, printJson, table } from '../../terminal/output.ts';
import { ProgressLine } from '../../terminal/progress.ts';

export function addJobsCommand(program: Command): void {
  const jobs = program.command('jobs').description('List and control the jobs of a running server.');
  addList(jobs);
  addShow(jobs);
  for (const [name, description] of moves) addMove(jobs, name, description);
  addKickoff(jobs);
  addWatch(jobs);
}

interface JsonOption {
  json?: boolean;
}

function addList(jobs: Command): void {
  const list = jobs
    .command('list')
    .description('List jobs, newest first.')
    .addOption(new Option('--status <status>', 'only with this status').choices(jobStatuses))
    .option('--pipeline <name>', 'only of this pipeline')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 50);
  addClientFlags(list).action(
    async (options: JsonOption & { status?: string; pipeline?: string; limit: number }, command: Command) => {
      const { status, pipeline, limit } = options;
      const client = await connectClient(command);
      const page = await readPages<JobView>(client, '/api/jobs', { query: { status, pipeline }, limit });
      printList(page, { json: options.json, nothing: 'No job matches.', header: listHeader, row: listRow });
    },
  );
}

const listHeader = ['JOB', 'PIPELINE', 'NAME', 'STATUS', 'TRIES', 'UPDATED', 'ERROR'];

function listRow(job: JobView): string[] {
  return [
    job.jobId,
    shortText(job.pipeline, 20),
    shortText(job.name, 36),
    job.stage === null ? job.status : `${job.status} (${shortText(job.stage, 20)})`,
    triesOf(job, '/'),
    shortTime(job.updatedAt),
    shortText(job.errorCode, 40),
  ];
}

/** A job of rows is never retried as a whole: each row has tries of its own. */
function triesOf({ retryCount, maxRetries }: JobView, between: string): string {
  return maxRetries === 0 ? '-' : `${retryCount}${between}${maxRetries}`;
}

function addShow(jobs: Command): void {
  const show = jobs
    .command('show')
    .description('Show everything about one job.')
    .argument('<job>', 'its id', parseJobId);
  addClientFlags(show).action(async (jobId: string, options: JsonOption, command: Command) => {
    const client = await connectClient(command);
    const job = await client.get<JobView>(`/api/jobs/${jobId}`);
    if (options.json) printJson(job);
    else print(describeJob(job));
  });
}

const moves = [
  ['pause', 'Pause a job; the slice in flight may still finish.'],
  ['resume', 'Resume a paused job.'],
  ['cancel', 'Cancel a job; what it added is cleaned up.'],
] as const;

function addMove(jobs: Command, name: string, description: string): void {
  const move = jobs.command(name).description(description).argument('<job>', 'its id', parseJobId);
  addClientFlags(move).action(async (jobId: string, options: JsonOption, command: Command) => {
    const client = await connectClient(command);
    const job = await client.post<JobView>(`/api/jobs/${jobId}/${name}`);
    if (options.json) return printJson(job);
    print(`${job.jobId}  ${job.status}`);
    if (job.cleanupOpen) note('What it added is being cleaned up.');
  });
}

function addKickoff(jobs: Command): void {
  const kickoff = jobs
    .command('kickoff')
    .description('Run a job for a limited time, without a worker.')
    .argument('<job>', 'its id', parseJobId)
    .option('--duration <ms>', 'how long to run at most', parseDurationMs, 5_000)
    .option('--quiet', 'show no progress');
  addClientFlags(kickoff).action(
    async (jobId: string, options: JsonOption & { duration: number; quiet?: boolean }, command: Command) => {
      const client = await connectClient(command);
      const isSilent = options.quiet === true || options.json === true;
      const report = await driveJob(client, { jobId, durationMs: options.duration, isSilent });
      if (options.json) printJson(report);
      else print(describeKickoff(report));
    },
  );
}

const parseDurationMs = wholeNumber('--duration', { min: 1, max: 3_600_000 });

function describeKickoff({ processed, remaining, elapsedMs, queueState, leasedBy }: KickoffView): string {
  const parts = [`${processed} ${processed === 1 ? 'slice' : 'slices'} in ${shortDuration(elapsedMs)}`];
  if (remaining !== null) parts.push(`${remaining} remaining`);
  parts.push(queueState);
  if (leasedBy !== null) parts.push(`worker ${leasedBy} is running it`);
  return parts.join(', ');
}

function addWatch(jobs: Command): void {
  const watch = jobs
    .command('watch')
    .description('Follow all jobs live until Ctrl+C, or one until it has ended (exit 0: it succeeded).')
    .argument('[job]', 'its id', parseJobId);
  addClientFlags(watch).action(async (jobId: string | undefined, options: JsonOption, command: Command) => {
    const client = await connectClient(command);
    process.exitCode = await watchJobs(client, { jobId: jobId ?? null, json: options.json === true });
  });
}

function describeJob(job: JobView): string {
  const lines = [
    ['job', job.jobId],
    ['pipeline', shortText(job.pipeline, 64)],
    ['name', shortText(job.name, 200)],
    ['subject', shortText(job.subjectId, 200)],
    ['workspace', job.workspaceId ?? '-'],
    ['status', job.status],
    ['stage', shortText(job.stage, 64)],
    ['tries', triesOf(job, ' of ')],
    ['next try', shortTime(job.nextRetryAt)],
    ['error', shortText(job.errorCode, 100)],
    ['message', shortText(job.errorMessage, 500)],
    ['counters', shortText(JSON.stringify(job.counters), 500)],
    ['checkpoint', shortText(JSON.stringify(job.checkpoint), 500)],
    ['worker', job.leasedBy ?? '-'],
    ['heartbeat', shortTime(job.heartbeatAt)],
    ['requeued from', job.requeuedFrom ?? '-'],
    ['correlation', shortText(job.correlationId, 200)],
    ['created', `${shortTime(job.createdAt)} by ${shortText(job.createdBy, 100)}`],
    ['started', shortTime(job.startedAt)],
    ['finished', shortTime(job.finishedAt)],
  ];
  return table(lines.filter(([, value]) => value !== '-' && value !== '{}'));
}

/** What a kickoff did, as the API reports it. */
type KickoffView = Omit<KickoffReport, 'job'> & { queueState: ReturnType<typeof queueState> };

/** Short, so that progress shows and Ctrl+C does not leave a long request behind. */
const stepMs = 2_000;
const graceMs = 30_000;

/** Drives a job in steps until it has nothing more to do at once, or the time is up. */
async function driveJob(
  client: Client,
  { jobId, durationMs, isSilent }: { jobId: string; durationMs: number; isSilent: boolean },
): Promise<KickoffView> {
  const startedAtMs = performance.now();
  const progress = new ProgressLine({ isSilent });
  const leftMs = () => Math.ceil(durationMs - (performance.now() - startedAtMs));
  const step = (ms: number) =>
    client.post<KickoffView>(`/api/jobs/${jobId}/kickoff`, {
      query: { durationMs: Math.max(1, Math.min(stepMs, ms)) },
      timeoutMs: stepMs + graceMs,
    });
  try {
    let report = await step(durationMs);
    let processed = report.processed;
    // Slices and what remains are counted in different units, so progress shows only what remains.
    const atFirst = report.remaining;
    while (report.processed > 0 && isOpen(report) && leftMs() > 0) {
      progress.update(progressOf({ atFirst, remaining: report.remaining, processed }));
      report = await step(leftMs());
      processed += report.processed;
    }
    return { ...report, processed, elapsedMs: Math.round(performance.now() - startedAtMs) };
  } finally {
    progress.end();
  }
}

function isOpen({ queueState }: KickoffView): boolean {
  return queueState === 'QUEUED' || queueState === 'RUNNING';
}

function progressOf(state: { atFirst: number | null; remaining: number | null; processed: number }) {
  const { atFirst, remaining, processed } = state;
  if (atFirst === null || remaining === null) return { done: processed, total: null };
  return { done: Math.max(0, atFirst - remaining), total: atFirst };
}
