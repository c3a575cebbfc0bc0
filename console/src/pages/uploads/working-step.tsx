import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Job, Upload } from '../../api/types.ts';
import { Panel } from '../../parts/page.tsx';
import { Progress } from '../../parts/progress.tsx';
import { Duration } from '../../parts/time.tsx';

/** Progress of the current step, as far as it is known. */
export function WorkingStep({ upload }: { upload: Upload }) {
  const job = useQuery({
    queryKey: ['uploads', 'job', upload.job_id],
    queryFn: ({ signal }) => api.get('/api/jobs/{job_id}', { path: { job_id: upload.job_id }, signal }),
    refetchInterval: 1_000,
  }).data as Job | undefined;
  const { title, sentence } = wordsOf(upload);
  return (
    <Panel title={title} aside={<Since upload={upload} />}>
      <div className="stack" aria-live="polite">
        {job === undefined ? null : <Reached upload={upload} job={job} />}
        <p className="dim">{sentence}</p>
        {job?.status === 'paused' ? <p>Somebody has paused its job. Resume the job to continue.</p> : null}
        {job?.status === 'failed' && job.nextRetryAt !== null ? (
          <p>The last try failed ({job.errorMessage}); it is retried by itself.</p>
        ) : null}
      </div>
    </Panel>
  );
}

function Since({ upload }: { upload: Upload }) {
  return (
    <span className="dim small">
      for <Duration from={upload.updated_at} />
    </span>
  );
}

function wordsOf(upload: Upload): { title: string; sentence: string } {
  if (upload.status === 'pending') {
    return {
      title: 'Waiting for a slot',
      sentence: 'At most three uploads of a workspace run at a time, oldest first.',
    };
  }
  if (upload.status === 'promoting' || !upload.review) {
    return {
      title: 'Promoting',
      sentence:
        'You can leave this page. Promotion continues by itself; it cannot be stopped midway, only undone later.',
    };
  }
  return upload.checking
    ? { title: 'Reading the file again', sentence: 'With your columns. This promotes nothing.' }
    : { title: 'Reading the file', sentence: 'Every row is read and checked. This promotes nothing.' };
}

function Reached({ upload, job }: { upload: Upload; job: Job }) {
  const isMoving = job.status === 'running';
  if (upload.status === 'promoting') {
    const { entityType, afterRow } = promotionOf(job);
    // Campaigns, ad sets and ads come first and are few; the daily figures are the rows of the file.
    if (entityType !== 'daily_metric') return <p>Campaigns, ad sets and ads first …</p>;
    return <Progress done={afterRow + 1} total={upload.total_rows} noun="rows" isMoving={isMoving} />;
  }
  const read = job.counters.total_rows ?? 0;
  // Rows are counted when they are stored, some thousands at a time.
  if (upload.status === 'pending' || read === 0) return null;
  return <Progress done={read} total={null} noun="rows read" isMoving={isMoving} />;
}

function promotionOf({ checkpoint }: Job): { entityType: string; afterRow: number } {
  const { promotion } = checkpoint as { promotion?: { entityType?: string; afterRow?: number } };
  return { entityType: promotion?.entityType ?? '', afterRow: promotion?.afterRow ?? -1 };
}
