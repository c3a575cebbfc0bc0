import { Skeleton } from '@mantine/core';
import { codeWords } from '../../api/needs.ts';
import { useCan } from '../../api/queries.ts';
import type { Overview } from '../../api/types.ts';
import { CountSum } from '../../parts/counts.tsx';
import { LineChart } from '../../parts/line-chart.tsx';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { pipelineLook } from '../../parts/pipelines.ts';
import { To } from '../../parts/to.tsx';

type Day = Overview['last_day'];

export function LastDay({ day }: { day: Day | undefined }) {
  return (
    <Panel title="Last 24 hours">
      {day === undefined ? <Skeleton height={180} /> : <DayBody day={day} />}
    </Panel>
  );
}

export function FailuresPanel({ day }: { day: Day | undefined }) {
  return (
    <Panel title="Failures by reason, last 24 hours">
      {day === undefined ? <Skeleton height={80} /> : <Failures failures={day.failures} total={day.failed} />}
    </Panel>
  );
}

function DayBody({ day }: { day: Day }) {
  const minutes = day.step_seconds / 60;
  const pointsOf = (name: 'rows' | 'succeeded' | 'failed') =>
    day.points.map((point) => ({ at: Date.parse(point.at), value: point[name] }));
  return (
    <div className="stack">
      <CountSum
        total={day.succeeded + day.failed + day.canceled}
        noun="jobs ended"
        parts={[
          { label: 'done', value: day.succeeded, tone: 'done' },
          { label: 'failed for good', value: day.failed, tone: 'failed' },
          { label: 'canceled', value: day.canceled, tone: 'canceled' },
        ]}
      />
      <p className="dim">
        They brought <b>{count(day.rows)}</b> rows, records, chunks or references.
      </p>
      <div className="columns">
        <LineChart
          label="Rows taken in over the last 24 hours"
          unit={`rows per ${minutes} min, counted when their job ends`}
          height={120}
          series={[{ label: 'rows', points: pointsOf('rows'), tone: 'running' }]}
        />
        <LineChart
          label="Jobs that ended over the last 24 hours"
          unit={`jobs per ${minutes} min`}
          height={110}
          series={[
            { label: 'done', points: pointsOf('succeeded'), tone: 'done' },
            { label: 'failed', points: pointsOf('failed'), tone: 'failed' },
          ]}
        />
      </div>
    </div>
  );
}

function Failures({ failures, total }: { failures: Day['failures']; total: number }) {
  const canReadLetters = useCan('dead_letter.read');
  if (total === 0)
    return <p className="dim">No job failed for good. Jobs that will be retried do not count.</p>;
  const most = Math.max(...failures.map((failure) => failure.count));
  const listed = failures.reduce((sum, failure) => sum + failure.count, 0);
  return (
    <ul className="failures">
      {failures.map((failure) => (
        <li key={failure.pipeline + failure.error_code}>
          <To href={hrefOf(failure, canReadLetters)}>{codeWords(failure.error_code)}</To>
          <span className="dim small">
            {pipelineLook(failure.pipeline).label} <code>{failure.error_code}</code>
          </span>
          <span className="num">{count(failure.count)}</span>
          <span className="failure-bar" aria-hidden="true">
            <span style={{ width: `${(failure.count / most) * 100}%` }} />
          </span>
        </li>
      ))}
      {listed < total ? <li className="dim">and {count(total - listed)} for other reasons</li> : null}
    </ul>
  );
}

function hrefOf({ pipeline, error_code }: Day['failures'][number], canReadLetters: boolean): string {
  const query = new URLSearchParams({ pipeline });
  if (!canReadLetters) return `/jobs?status=dead_letter&${query}`;
  if (error_code !== null) query.set('error_code', error_code);
  return `/dead-letters?${query}`;
}
