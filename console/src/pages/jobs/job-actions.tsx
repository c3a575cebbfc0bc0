import { Button } from '@mantine/core';
import { api, type Reply } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Job } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Icon, type IconName } from '../../parts/icons.tsx';
import { jobName } from '../../parts/pipelines.ts';
import { useGo } from '../../parts/to.tsx';
import { type Control, controlJob, controls, controlVerb, isLegal } from './job-control.ts';

const looks: Record<Control, { word: string; icon: IconName }> = {
  pause: { word: 'Pause', icon: 'pause' },
  resume: { word: 'Resume', icon: 'play' },
  cancel: { word: 'Cancel', icon: 'stop' },
};

const consequence =
  'It stops at once. Where the pipeline can, what it added so far is removed. ' +
  'A canceled job cannot be resumed.';

/** What the job's state and your role allow. */
export function JobActions({ job }: { job: Job }) {
  const canControl = useCan('job.control');
  const control = useAction<Job, Control>({
    run: (kind) => controlJob(kind, job.jobId),
    done: (_, kind) => `${controlVerb(kind)}: ${jobName(job)}.`,
    touches: ['jobs', 'overview', 'stats'],
  });
  const act = async (kind: Control) => {
    const question = {
      title: `Cancel ${jobName(job)}?`,
      consequence,
      action: 'Cancel job',
      isDanger: true,
    };
    if (kind !== 'cancel' || (await confirm(question))) control.run(kind);
  };
  const legal = controls.filter((kind) => isLegal(kind, job.status));
  if (!canControl && legal.length > 0)
    return <span className="dim small">Your role can read jobs but not control them.</span>;
  return (
    <>
      {legal.map((kind) => (
        <Button
          key={kind}
          variant={kind === 'cancel' ? 'outline' : 'default'}
          color={kind === 'cancel' ? 'red' : 'gray'}
          leftSection={<Icon name={looks[kind].icon} size={13} />}
          loading={control.isRunning}
          onClick={() => void act(kind)}
        >
          {looks[kind].word}
        </Button>
      ))}
      {job.status === 'dead_letter' ? <RequeueButton job={job} /> : null}
    </>
  );
}

/** Requeues a dead letter and opens the new job; other roles see who may do it. */
function RequeueButton({ job }: { job: Job }) {
  const go = useGo();
  const canRequeue = useCan('dead_letter.requeue');
  const requeue = useAction<Reply<'/api/dead-letters/{job_id}/requeue', 'post'>>({
    run: () => api.post('/api/dead-letters/{job_id}/requeue', { path: { job_id: job.jobId }, body: {} }),
    done: () => `Requeued ${jobName(job)} as a new job.`,
    touches: ['jobs', 'dead-letters', 'overview', 'stats'],
    afterwards: ({ job_id }) => go(`/jobs/${job_id}`),
  });
  if (!canRequeue) return <span className="dim small">Only the roles support and operator can requeue.</span>;
  return (
    <Button
      leftSection={<Icon name="retry" size={13} />}
      loading={requeue.isRunning}
      onClick={() => requeue.run()}
    >
      Requeue as a new job
    </Button>
  );
}
