import {
  bug,
  conflict,
  defineErrors,
  invalid,
  isSluiceError,
  notFound,
  rateLimited,
} from '../../lib/errors.ts';

export const jobErrors = defineErrors({
  job_not_found: notFound(
    'There is no such job',
    'Check the id; a job of another tenant, or of another member, is not shown.',
  ),
  job_already_active: conflict(
    'This subject already has an active job',
    'Follow the job in active_job_id, or cancel it first.',
  ),
  cleanup_in_progress: conflict(
    'The canceled job is still being cleaned up',
    'Try again when the cleanup of active_job_id has finished.',
  ),
  illegal_transition: conflict(
    'The job’s current state does not allow this',
    'Check the job’s state; docs/state-machines.md shows what each state allows.',
  ),
  not_a_dead_letter: conflict(
    'Only a dead letter can be requeued',
    'Wait for the job to end, or start its subject again.',
  ),
  already_requeued: conflict(
    'This dead letter has already been requeued',
    'Follow the job in requeued_as; if that one is a dead letter too, requeue it.',
  ),
  pipeline_unknown: invalid(
    'This server does not know the job’s pipeline',
    'Use a server of the version that created the job.',
  ),
  requeue_refused: conflict(
    'A job of this kind cannot be requeued',
    'Do what the message says for this pipeline.',
  ),
  quota_exceeded: rateLimited(
    'The tenant’s queue is full',
    'Wait until some jobs have ended, or ask the operator for a higher limit.',
  ),
  lease_lost: conflict(
    'Another worker has taken the job over',
    'Nothing to do: the late write was refused and another worker has the job.',
  ),
  worker_crashed: bug(
    'The worker process died with this job, several times in a row',
    'Find the crash in the workers’ logs, fix it, then requeue the job.',
  ),
  unexpected_failure: bug(
    'The job failed for an unexpected reason',
    'Read the message and the worker’s log; requeue the job when the cause is fixed.',
  ),
});

/** The database was away or its response was lost: not the job's fault, so it uses no attempt. */
export function isInfrastructure(error: unknown): boolean {
  return (
    isSluiceError(error) && ['database_unavailable', 'commit_unknown', 'lease_lost'].includes(error.code)
  );
}
