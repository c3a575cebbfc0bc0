import type { EventEnvelope } from '../../kernel/events/types.ts';
import type { renderJob } from '../../kernel/jobs/views.ts';
import { shortDuration, shortText, shortTime } from '../terminal/cells.ts';
import { type ExitCode, exitCodes } from '../terminal/exit.ts';
import { Interruptible } from '../terminal/interruptible.ts';
import { note, print } from '../terminal/output.ts';
import type { Client } from './client.ts';
import { followEvents } from './event-stream.ts';

/** A job as the API shows it. */
export type JobView = ReturnType<typeof renderJob>;

export interface WatchOptions {
  /** Null: all jobs, until it is interrupted. */
  jobId: string | null;
  json: boolean;
}

const endedWith: Record<string, ExitCode | undefined> = {
  success: exitCodes.ok,
  dead_letter: exitCodes.failed,
  canceled: exitCodes.failed,
  'job.completed': exitCodes.ok,
  'job.dead_lettered': exitCodes.failed,
  'job.canceled': exitCodes.failed,
};

/** Prints the events of jobs as they happen. Returns how the one job ended, or how the watching did. */
export async function watchJobs(client: Client, { jobId, json }: WatchOptions): Promise<ExitCode> {
  const watch = new Interruptible();
  let ended: ExitCode | undefined;
  const onFirstOpen = async () => {
    if (jobId === null) return note('Watching all jobs; Ctrl+C ends it.');
    const job = await client.get<JobView>(`/api/jobs/${jobId}`);
    ended = endedWith[job.status];
    note(`Job ${jobId} is ${job.status}${ended === undefined ? '; watching it until it has ended' : ''}.`);
    if (ended !== undefined) watch.end();
  };
  const query = jobId === null ? { type: 'job.*' } : { subject: jobId };
  try {
    for await (const data of followEvents(client, {
      query,
      signal: watch.signal,
      onFirstOpen,
      onNotice: note,
    })) {
      const event = JSON.parse(data) as EventEnvelope;
      print(json ? data : describeEvent(event));
      if (jobId !== null) ended = endedWith[event.type];
      if (ended !== undefined) break;
    }
  } finally {
    watch.end();
  }
  return ended ?? watch.exitCode;
}

/** 14:03:07  job.retry          <job>  csv orders  in 60 s: rate_limited */
function describeEvent({ time, type, subject, data }: EventEnvelope): string {
  const about = [data.pipeline, data.subject_id]
    .filter((part) => typeof part === 'string')
    .map((part) => shortText(part, 60));
  const columns = [shortTime(time), type.padEnd(18), shortText(subject, 60), about.join(' ')];
  const details = detailsOf(data);
  if (details !== '') columns.push(details);
  return columns.join('  ').trimEnd();
}

function detailsOf(data: Record<string, unknown>): string {
  const parts: string[] = [];
  if (typeof data.duration_seconds === 'number')
    parts.push(`after ${shortDuration(data.duration_seconds * 1000)}`);
  if (typeof data.delay_seconds === 'number') parts.push(`in ${shortDuration(data.delay_seconds * 1000)}`);
  if (data.cleanup_open === true) parts.push('cleanup follows');
  for (const field of ['cause', 'error_code', 'error_message']) {
    const value = data[field];
    if (typeof value === 'string') parts.push(shortText(value, 120));
  }
  return parts.join(': ');
}
