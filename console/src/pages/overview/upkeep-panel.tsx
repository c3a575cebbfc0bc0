import { useQuery } from '@tanstack/react-query';
import { api, type Reply } from '../../api/client.ts';
import { type Column, ListTable } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';

type Task = Reply<'/api/stats/upkeep'>['data'][number];

const columns: readonly Column<Task>[] = [
  { id: 'task', header: 'Task', width: 190, cell: ({ task }) => task.replaceAll(/[_-]/g, ' ') },
  {
    id: 'state',
    header: 'State',
    width: 110,
    cell: ({ last_error, last_finished_at }) => (
      <StatusChip
        status={last_error !== null ? 'failed' : last_finished_at === null ? 'not_started' : 'success'}
      />
    ),
  },
  {
    id: 'last',
    header: 'Last run',
    width: 110,
    cell: ({ last_finished_at }) => <Ago at={last_finished_at} empty="not yet" />,
  },
  { id: 'next', header: 'Next run', width: 110, cell: ({ next_run_at }) => <Ago at={next_run_at} /> },
  {
    id: 'result',
    header: 'What it did',
    cell: (task) => <span title={resultOf(task)}>{resultOf(task)}</span>,
  },
];

const taskKey = ({ task }: Task) => task;

/** The upkeep tasks: what ran last and whether it worked. */
export function UpkeepPanel() {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['stats', 'upkeep'],
    queryFn: () => api.get('/api/stats/upkeep'),
    refetchInterval: 60_000,
  });
  return (
    <Panel title="Upkeep">
      {error === null ? null : (
        <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
      )}
      <ListTable
        label="Upkeep tasks"
        columns={columns}
        rows={data?.data ?? []}
        rowKey={taskKey}
        isLoading={isPending}
        maxHeight="320px"
        empty={<p className="dim">No upkeep task yet. The first worker registers them.</p>}
      />
    </Panel>
  );
}

function resultOf({ last_error, last_result }: Task): string {
  if (last_error !== null) return last_error;
  const figures = Object.entries(last_result ?? {}).filter(([, value]) => value !== 0);
  if (figures.length === 0) return last_result === null ? '' : 'nothing to do';
  return figures.map(([name, value]) => `${count(value)} ${wordsOf(name)}`).join(', ');
}

/** `deletedRows` and `deleted_rows` both read as "deleted rows". */
function wordsOf(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
}
