import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Reply } from '../../api/client.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Ago } from '../../parts/time.tsx';

type Worker = Reply<'/api/stats/workers'>['data'][number];

export function WorkersPanel() {
  const { data, error, refetch } = useQuery({
    queryKey: ['stats', 'workers'],
    queryFn: () => api.get('/api/stats/workers'),
    refetchInterval: 15_000,
  });
  const alive = data?.data.filter((worker) => worker.is_alive) ?? [];
  const lost = (data?.data.length ?? 0) - alive.length;
  return (
    <Panel title="Workers">
      {error === null ? null : (
        <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
      )}
      {data === undefined && error === null ? <Skeleton height={60} /> : null}
      {data === undefined ? null : (
        <p>
          <b data-tone={alive.length === 0 ? 'failed' : 'done'}>{count(alive.length)}</b>{' '}
          {alive.length === 1 ? 'worker' : 'workers'} alive
          {lost === 0 ? '' : `, ${count(lost)} lost`}
          {alive.length === 0 ? '. Jobs wait until one is started: sluice worker' : ''}
        </p>
      )}
      <ul className="worker-list">
        {alive.map((worker) => (
          <WorkerLine key={worker.worker_id} worker={worker} />
        ))}
      </ul>
    </Panel>
  );
}

function WorkerLine({ worker }: { worker: Worker }) {
  return (
    <li>
      <span className="cut" title={worker.worker_id}>
        {worker.name}
      </span>
      <span className="dim small">
        {plural(worker.leases, 'job')} in progress, {count(worker.concurrency)} at a time · started{' '}
        <Ago at={worker.started_at} /> · last seen <Ago at={worker.heartbeat_at} />
      </span>
    </li>
  );
}
