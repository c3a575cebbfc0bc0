import type { Event, Job } from '../../api/types.ts';
import { Id } from '../../parts/command.tsx';
import { plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { pipelineLook } from '../../parts/pipelines.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Clock, Duration } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';
import { type Attempt, attemptsOf } from './timeline.ts';

export function JobFacts({ job }: { job: Job }) {
  return (
    <Panel title="Details">
      <dl className="facts">
        <dt>Pipeline</dt>
        <dd>
          <To href={`/jobs?pipeline=${encodeURIComponent(job.pipeline)}`}>
            {pipelineLook(job.pipeline).label}
          </To>
        </dd>
        <dt>Subject</dt>
        <dd>
          <To href={`/jobs?subject=${encodeURIComponent(job.subjectId)}`}>{job.subjectId}</To>
        </dd>
        <dt>Job id</dt>
        <dd>
          <Id value={job.jobId} length={36} />
        </dd>
        {job.requeuedFrom === null ? null : (
          <>
            <dt>Requeued from</dt>
            <dd>
              <To href={`/jobs/${job.requeuedFrom}`}>{job.requeuedFrom}</To>
            </dd>
          </>
        )}
        <dt>Made</dt>
        <dd>
          <Ago at={job.createdAt} /> by {job.createdBy}
        </dd>
        <dt>Waited in the queue</dt>
        <dd>
          <Duration from={job.createdAt} to={job.startedAt ?? job.finishedAt} />
        </dd>
        <dt>Took</dt>
        <dd>
          <Duration from={job.startedAt} to={job.finishedAt} />
        </dd>
        <dt>Worker</dt>
        <dd>{job.leasedBy === null ? idleWords(job) : <WorkerSign job={job} workerId={job.leasedBy} />}</dd>
        <dt>Correlation</dt>
        <dd>
          <Id value={job.correlationId} length={36} />
        </dd>
      </dl>
    </Panel>
  );
}

/** Any free worker claims rows of an items job, so the job has no worker of its own. */
function idleWords({ pipeline, status }: Job): string {
  return pipeline === 'items' && status === 'running' ? 'every free worker' : 'no worker at the moment';
}

function WorkerSign({ job, workerId }: { job: Job; workerId: string }) {
  return (
    <>
      worker <Id value={workerId} />, heard of <Ago at={job.heartbeatAt} />
    </>
  );
}

const chipOf: Record<Exclude<Attempt['outcome'], 'running'>, string> = {
  done: 'success',
  failed: 'error',
  dead: 'dead_letter',
  'taken over': 'retrying',
};

/** Each try with how it ended. */
export function JobAttempts({ job, events }: { job: Job; events: readonly Event[] }) {
  const attempts = attemptsOf(events);
  return (
    <Panel
      title="Attempts"
      aside={<span className="dim small">at most {plural(job.maxRetries + 1, 'attempt')}</span>}
    >
      {attempts.length === 0 ? <p className="dim">None yet.</p> : null}
      <ol className="attempts">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <span className="num">{attempt.number}.</span>
            <AttemptChip attempt={attempt} job={job} />
            <span className="dim">
              <Clock at={attempt.startedAt} />, <Duration from={attempt.startedAt} to={attempt.endedAt} />
            </span>
            {attempt.reason === null ? null : <span className="attempt-reason">{attempt.reason}</span>}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function AttemptChip({ attempt, job }: { attempt: Attempt; job: Job }) {
  // The log has no end for it while the job is paused or canceled in the middle.
  if (attempt.outcome === 'running') return <StatusChip status={job.status} of="job" />;
  const word = attempt.outcome === 'taken over' ? { word: 'taken over' } : {};
  return <StatusChip status={chipOf[attempt.outcome]} {...word} />;
}
