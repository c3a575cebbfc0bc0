import { z } from 'zod';
import { shownAs, timestamp } from '../http/replies.ts';
import { type Job, type JobStatus, jobStatuses } from './types.ts';

/** The words of item jobs for the kernel's states; /api/jobs speaks them beside the kernel's own. */
const queueStates = ['QUEUED', 'RUNNING', 'PAUSED', 'DONE', 'FAILED'] as const;

const queueStateOf: Record<JobStatus, (typeof queueStates)[number]> = {
  queued: 'QUEUED',
  running: 'RUNNING',
  failed: 'RUNNING',
  paused: 'PAUSED',
  success: 'DONE',
  dead_letter: 'FAILED',
  canceled: 'FAILED',
};

export function queueState(job: Job): (typeof queueStates)[number] {
  return queueStateOf[job.status];
}

export const queueStateSchema = z.enum(queueStates);

/** As /api/jobs shows it. */
export const jobReply = z
  .looseObject({
    jobId: z.uuid(),
    name: z.string().describe('What people call it: the file, the base, the connector'),
    pipeline: z.string(),
    subjectId: z.string(),
    workspaceId: z.uuid().nullable(),
    status: z.enum(jobStatuses),
    queueState: queueStateSchema,
    stage: z.string().nullable(),
    runAt: timestamp,
    nextRetryAt: timestamp.nullable(),
    retryCount: z.int(),
    maxRetries: z.int(),
    runId: z.string().nullable(),
    correlationId: z.string(),
    errorCode: z.string().nullable(),
    errorMessage: z.string().nullable(),
    checkpoint: z.record(z.string(), z.unknown()),
    counters: z.record(z.string(), z.number()),
    leasedBy: z.uuid().nullable(),
    heartbeatAt: timestamp.nullable(),
    cleanupOpen: z.boolean(),
    requeuedFrom: z.uuid().nullable(),
    createdBy: z.string(),
    createdAt: timestamp,
    startedAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    updatedAt: timestamp,
  })
  .meta({ id: 'Job' });

export function renderJob(job: Job, name: string): z.output<typeof jobReply> {
  return { ...shownAs(jobReply, { ...job, name }), queueState: queueState(job) };
}

/** As the dead-letter queue shows it, in the words of its document. */
export const deadLetterReply = z
  .object({
    job_id: z.uuid(),
    name: z.string().describe('What people call it: the file, the base, the connector'),
    tenant_id: z.string(),
    pipeline: z.string(),
    subject_id: z.string(),
    connector_id: z.string().nullable(),
    external_account_id: z.string().nullable(),
    status: z.enum(jobStatuses),
    retry_count: z.int(),
    run_id: z.string().nullable(),
    correlation_id: z.string(),
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
    next_retry_at: timestamp.nullable(),
    requeued_from: z.uuid().nullable(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'DeadLetter' });

export function renderDeadLetter(job: Job, name: string): z.output<typeof deadLetterReply> {
  return shownAs(deadLetterReply, { ...job, name });
}
