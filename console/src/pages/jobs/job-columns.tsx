import type { Job } from '../../api/types.ts';
import { Icon } from '../../parts/icons.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count, plural } from '../../parts/number.ts';
import { jobName, pipelineLook } from '../../parts/pipelines.ts';
import { ProgressBar } from '../../parts/progress.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago, Duration } from '../../parts/time.tsx';
import { figuresOf } from './job-figures.ts';
import { attemptsMade, isWaitingForYou } from './job-sentence.ts';

export const jobColumns: readonly Column<Job>[] = [
  {
    id: 'name',
    header: 'Job',
    cell: (job) => (
      <span title={`${job.subjectId} · job ${job.jobId}`}>
        <Icon name={pipelineLook(job.pipeline).icon} size={14} /> {jobName(job)}
      </span>
    ),
  },
  { id: 'state', header: 'State', width: 136, cell: (job) => <JobState job={job} /> },
  { id: 'figures', header: 'Progress', width: 150, cell: (job) => <Figures job={job} /> },
  {
    id: 'what',
    header: 'Next, or why',
    width: 150,
    cell: (job) => <Next job={job} />,
  },
  {
    id: 'attempts',
    header: 'Attempts',
    width: 76,
    align: 'end',
    cell: (job) => (
      <span className="num">
        {attemptsMade(job)} / {job.maxRetries + 1}
      </span>
    ),
  },
  { id: 'waited', header: 'Waited', width: 72, align: 'end', cell: (job) => <Waited job={job} /> },
  { id: 'took', header: 'Took', width: 84, align: 'end', cell: (job) => <Took job={job} /> },
  { id: 'created', header: 'Created', width: 92, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

/** What waits for a person is not at work, whatever its state is called. */
function JobState({ job }: { job: Job }) {
  if (isWaitingForYou(job)) return <StatusChip status="staging_complete" word="waiting for you" />;
  return <StatusChip status={job.status} of="job" />;
}

function Figures({ job }: { job: Job }) {
  const figures = figuresOf(job);
  if (figures === null) return <span className="dim">–</span>;
  const { progress, total, nouns } = figures;
  const isOpen = ['queued', 'running', 'paused', 'failed'].includes(job.status);
  if (!isOpen || progress === null || progress.total === null) {
    return <span className="num">{plural(total, ...nouns)}</span>;
  }
  const label = `${count(progress.done)} of ${plural(progress.total, ...nouns)}`;
  return (
    <span className="cell-progress" title={label}>
      <ProgressBar
        done={progress.done}
        total={progress.total}
        label={label}
        isMoving={job.status === 'running'}
      />
      <span className="num small">{label}</span>
    </span>
  );
}

function Next({ job }: { job: Job }) {
  if (job.status === 'failed') {
    return (
      <span title={job.errorMessage ?? ''}>
        again <Ago at={job.nextRetryAt} /> · {job.errorMessage}
      </span>
    );
  }
  if (job.status === 'dead_letter') return <span title={job.errorMessage ?? ''}>{job.errorMessage}</span>;
  if (isWaitingForYou(job)) return 'your review';
  if (job.status === 'canceled' && job.cleanupOpen) return 'what it added is being removed';
  if (job.status === 'running' && job.stage !== null)
    return <span className="dim">{job.stage.replaceAll('_', ' ')}</span>;
  return null;
}

/** In the queue, until a worker took it. */
function Waited({ job }: { job: Job }) {
  return <Duration from={job.createdAt} to={job.startedAt ?? job.finishedAt} />;
}

function Took({ job }: { job: Job }) {
  if (isWaitingForYou(job)) return <span className="dim">–</span>;
  return <Duration from={job.startedAt} to={job.finishedAt} />;
}
