import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { canRestart, type ItemJob } from './item-job.ts';
import type { EndedStatus } from './item-status.ts';
import { useReprocess } from './reprocess.ts';

/** Why rows failed, and what to do about each reason. */
export function FailuresPanel({ job }: { job: ItemJob }) {
  const { data, error } = useFailures(job);
  const mayReprocess = useCan('item.control') && canRestart(job);
  const { run, isRunning } = useReprocess(() => {});
  if (error !== null) return <Problem error={error} />;
  const groups = data?.data ?? [];
  if (groups.length === 0) return null;
  return (
    <Panel
      title="Why rows failed"
      aside={<span className="dim small">{plural(job.failedItems, 'row')}</span>}
    >
      <ul className="failures">
        {groups.map((group) => (
          <li key={`${group.status} ${group.errorCode}`}>
            <b>{count(group.count)}</b>
            <span>
              <b>{group.title}</b> <code className="dim">{group.errorCode ?? group.status}</code>
              <br />
              {group.next}
              <br />
              <span className="dim">
                Row {count(group.firstRowNo)}: {group.example}
              </span>
            </span>
            {group.canRetry && mayReprocess ? (
              <Button
                variant="default"
                loading={isRunning}
                onClick={() => run({ jobId: job.jobId, statuses: [group.status as EndedStatus] })}
              >
                Try again
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The reasons of failed rows; asked for only where some failed. */
export function useFailures(job: ItemJob) {
  return useQuery({
    queryKey: ['items', 'failures', job.jobId, job.failedItems],
    queryFn: ({ signal }) => api.get('/api/jobs/{job_id}/failures', { path: { job_id: job.jobId }, signal }),
    enabled: job.failedItems > 0,
  });
}
