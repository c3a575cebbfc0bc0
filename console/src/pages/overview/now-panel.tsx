import { Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Overview } from '../../api/types.ts';
import { CountSum } from '../../parts/counts.tsx';
import { Icon } from '../../parts/icons.tsx';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { pipelineLook } from '../../parts/pipelines.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Duration } from '../../parts/time.tsx';
import { To } from '../../parts/to.tsx';

type Now = Overview['now'];

export function NowPanel({ now }: { now: Now | undefined }) {
  return (
    <Panel title="Now" aside={<Link to="/jobs">All jobs</Link>}>
      {now === undefined ? <Skeleton height={60} /> : <NowBody now={now} />}
    </Panel>
  );
}

function NowBody({ now }: { now: Now }) {
  const total = now.running + now.queued + now.waiting_for_retry + now.paused;
  if (total === 0) return <p className="dim">Nothing is running, and nothing waits.</p>;
  return (
    <div className="stack">
      <CountSum
        total={total}
        noun={total === 1 ? 'job' : 'jobs'}
        parts={[
          { label: 'running', value: now.running, tone: 'running' },
          { label: 'queued', value: now.queued, tone: 'queued' },
          { label: 'waiting for retry', value: now.waiting_for_retry, tone: 'retry' },
          { label: 'paused', value: now.paused, tone: 'paused' },
        ]}
      />
      <ul className="now-list">
        {now.jobs.map(({ pipeline, status, count: jobs }) => (
          <li key={pipeline + status}>
            <To href={`/jobs?pipeline=${encodeURIComponent(pipeline)}&status=${status}`}>
              <Icon name={pipelineLook(pipeline).icon} />
              {pipelineLook(pipeline).label}
            </To>
            <StatusChip status={status} of="job" />
            <span className="num">{count(jobs)}</span>
          </li>
        ))}
      </ul>
      <p className="dim">
        {now.waiting_since === null ? (
          'No job waits for a worker.'
        ) : (
          <>
            The first in line has waited <Duration from={now.waiting_since} /> for a worker.
          </>
        )}
      </p>
    </div>
  );
}
