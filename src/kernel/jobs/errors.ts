import { defineErrors } from '../../lib/errors.ts';

export const jobErrors = defineErrors({
  job_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such job',
    next: 'Check the id; a job of another tenant, or of another member, is not shown.',
  },
  job_already_active: {
    kind: 'conflict',
    status: 409,
    title: 'This subject already has an active job',
    next: 'Follow the job in active_job_id, or cancel it first.',
  },
  cleanup_in_progress: {
    kind: 'conflict',
    status: 409,
    title: 'The canceled job is still being cleaned up',
    next: 'Try again when the cleanup of active_job_id has finished.',
  },
  illegal_transition: {
    kind: 'conflict',
    status: 409,
    title: 'The job’s current state does not allow this',
    next: 'Check the job’s state; docs/state-machines.md shows what each state allows.',
  },
  not_a_dead_letter: {
    kind: 'conflict',
    status: 409,
    title: 'Only a dead letter can be requeued',
    next: 'Wait for the job, or dispatch its subject again.',
  },
  already_requeued: {
    kind: 'conflict',
    status: 409,
    title: 'This dead letter has already been requeued',
    next: 'Follow the job in requeued_as; if that one died too, requeue that one.',
  },
  pipeline_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'This server does not know the job’s pipeline',
    next: 'Use a server of the version that created the job.',
  },
  requeue_refused: {
    kind: 'conflict',
    status: 409,
    title: 'A job of this kind cannot be requeued',
    next: 'Follow what the message says for this pipeline.',
  },
  quota_exceeded: {
    kind: 'rate_limited',
    status: 429,
    title: 'The tenant’s queue is full',
    next: 'Wait until some of it is done, or ask the operator for a higher limit.',
  },
  lease_lost: {
    kind: 'conflict',
    status: 409,
    title: 'Another worker has taken the job over',
    next: 'Nothing to do: the late write was refused and another worker has the job.',
  },
  worker_crashed: {
    kind: 'bug',
    status: 500,
    title: 'The worker process died with this job, several times in a row',
    next: 'Find the crash in the workers’ logs, fix it, then requeue the job.',
  },
  unexpected_failure: {
    kind: 'bug',
    status: 500,
    title: 'The job failed for an unforeseen reason',
    next: 'Read the message and the worker’s log; requeue the job when the cause is fixed.',
  },
});
