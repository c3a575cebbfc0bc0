import { useErrorWords } from '../../api/error-words.ts';
import type { Job } from '../../api/types.ts';
import { CopyButton } from '../../parts/command.tsx';
import { Icon } from '../../parts/icons.tsx';

/** What went wrong in words, what to do about it, the code in small type. */
export function JobError({ job }: { job: Job }) {
  const words = useErrorWords(job.errorCode);
  const isTold = job.status === 'failed' || job.status === 'dead_letter' || job.status === 'paused';
  if (!isTold || (job.errorCode === null && job.errorMessage === null)) return null;
  const { jobId, pipeline, subjectId, errorCode, errorMessage, retryCount, correlationId, finishedAt } = job;
  const ticket = {
    jobId,
    pipeline,
    subjectId,
    errorCode,
    errorMessage,
    retryCount,
    correlationId,
    finishedAt,
  };
  return (
    <section
      className="job-error"
      data-tone={job.status === 'dead_letter' ? 'failed' : 'retry'}
      aria-label="What went wrong"
    >
      <Icon name="alert" />
      <div>
        <p>{job.errorMessage ?? words?.title ?? 'It failed without a message.'}</p>
        {words === null ? null : (
          <p>
            {job.errorMessage === null ? '' : `${words.title} `}
            <b>What to do:</b> {words.next}
          </p>
        )}
        <div className="problem-aside">
          {job.errorCode === null ? null : <code>{job.errorCode}</code>}
          <a href={`/docs/errors.md#${job.errorCode ?? ''}`}>All error codes</a>
          <CopyButton value={JSON.stringify(ticket, null, 2)} label="Copy as JSON" />
        </div>
      </div>
    </section>
  );
}
