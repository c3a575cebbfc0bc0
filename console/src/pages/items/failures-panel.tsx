import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Reply } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import { useListState } from '../../list-state.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { canRestart, type ItemJob } from './item-job.ts';
import type { EndedStatus } from './item-status.ts';
import { useReprocess } from './reprocess.ts';
import { type ItemSearch, itemSearch } from './search.ts';

/** Why rows failed, and what to do about each reason. */
export function FailuresPanel({ job }: { job: ItemJob }) {
  const [, change] = useListState(itemSearch);
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
            <span className="failure-actions">
              <Button
                variant="subtle"
                onClick={() => change(rowsOf(group))}
                aria-label={`Show ${plural(group.count, 'row')}: ${group.title}`}
              >
                Show {plural(group.count, 'row')}
              </Button>
              {group.canRetry && mayReprocess ? (
                <Button
                  loading={isRunning}
                  onClick={() => run({ jobId: job.jobId, ...whichOf(group) })}
                  aria-label={`Try again: ${group.title}`}
                >
                  Try again
                </Button>
              ) : null}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type Group = Pick<Reply<'/api/jobs/{job_id}/failures', 'get'>['data'][number], 'status' | 'errorCode'>;

function whichOf({ status, errorCode }: Group): { statuses: EndedStatus[]; errorCode: string | undefined } {
  return { statuses: [status as EndedStatus], errorCode: errorCode ?? undefined };
}

/** The grid, with the rows of one reason only. */
function rowsOf(group: Group): Partial<ItemSearch> {
  const { statuses, errorCode: reason } = whichOf(group);
  return { tab: undefined, statuses, reason, from: undefined } as Partial<ItemSearch>;
}

/** The reasons of failed rows; asked for only where some failed. */
export function useFailures(job: ItemJob) {
  return useQuery({
    queryKey: ['items', 'failures', job.jobId, job.failedItems],
    queryFn: ({ signal }) => api.get('/api/jobs/{job_id}/failures', { path: { job_id: job.jobId }, signal }),
    enabled: job.failedItems > 0,
  });
}
