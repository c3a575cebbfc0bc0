import { Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Empty } from '../../parts/empty.tsx';
import { LineChart } from '../../parts/line-chart.tsx';
import { secondsText } from '../../parts/moments.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import {
  claimSeries,
  ingestSeries,
  providerSeries,
  reasonsOf,
  sliceSeries,
  toldBy,
  useControlEvents,
} from './control-history.ts';
import type { ItemJob } from './item-job.ts';

type Told = ReturnType<typeof toldBy>;

const milliseconds = (value: number) => (value < 10 && value > 0 ? value.toFixed(1) : count(value));

/** What the controllers decided over time, and why. */
export function ControlTab({ job }: { job: ItemJob }) {
  const { data, error, isPending, refetch } = useControlEvents(job);
  const told = toldBy(data ?? []);
  return (
    <div className="stack">
      {error === null ? null : (
        <Problem error={error} isStale={data !== undefined} retry={() => void refetch()} />
      )}
      {isPending ? <Skeleton height={200} /> : null}
      <div className="columns">
        <ClaimPanel job={job} told={told} />
        <ReasonsPanel told={told} />
        {providerSeries(told).map(({ provider, concurrency, delay }) => (
          <Panel key={provider} title={`Calls to ${provider}`}>
            <p className="dim">
              {nowOf(job, provider) ?? 'How many calls run at once, and how far apart they start.'}
            </p>
            <LineChart label={`Calls at once to ${provider}`} unit="calls" series={concurrency} />
            <LineChart
              label={`Time between calls to ${provider}`}
              unit="ms"
              series={delay}
              format={milliseconds}
            />
          </Panel>
        ))}
        <IngestPanel job={job} />
      </div>
    </div>
  );
}

function ClaimPanel({ job, told }: { job: ItemJob; told: Told }) {
  const { claim } = job.controllers;
  if (told.length === 0) {
    return (
      <Panel title="Rows per claim">
        <Empty
          sentence={
            job.startedAt === null
              ? 'No worker has claimed rows yet. The size of claims is drawn here once one does.'
              : 'There is no history for this job. Recording starts with the next row.'
          }
        />
      </Panel>
    );
  }
  return (
    <Panel title="Rows per claim" aside={<Now items={claim?.items} unit="row" />}>
      <p className="dim">
        A worker claims as many rows at once as it can finish in time, and fewer under pressure.
        {claim === undefined ? '' : ` Now: ${claim.reason}.`}
      </p>
      <LineChart label="Rows per claim over time" unit="rows" series={claimSeries(told)} />
      <LineChart
        label="How long a claim takes against its target"
        unit="ms"
        series={sliceSeries(told)}
        format={milliseconds}
      />
    </Panel>
  );
}

function Now({ items, unit }: { items: unknown; unit: string }): ReactNode {
  return typeof items === 'number' ? <span className="num">{plural(items, unit)} at once now</span> : null;
}

const mostReasons = 12;

function ReasonsPanel({ told }: { told: Told }) {
  const reasons = reasonsOf(told);
  if (reasons.length === 0) return null;
  return (
    <Panel title="Why" aside={<span className="dim small">newest first</span>}>
      <ol className="history">
        {reasons.slice(0, mostReasons).map(({ at, items, reason }) => (
          <li key={`${at} ${items}`}>
            <span className="dim num">{secondsText(new Date(at))}</span>
            <span>
              <b className="num">{plural(items, 'row')}</b> at once: {reason}
            </span>
          </li>
        ))}
      </ol>
      {reasons.length > mostReasons ? (
        <p className="dim small">and {plural(reasons.length - mostReasons, 'earlier change')}</p>
      ) : null}
    </Panel>
  );
}

function nowOf({ controllers }: ItemJob, provider: string): string | null {
  const now = controllers.providers?.find((one) => one.provider === provider);
  if (now === undefined) return null;
  const delay =
    typeof now.delayMs === 'number' && now.delayMs > 0 ? `, ${milliseconds(now.delayMs)} ms apart` : '';
  return `${count(Number(now.concurrency))} at once${delay} now: ${now.reason}.`;
}

function IngestPanel({ job }: { job: ItemJob }) {
  const { ingest } = job.controllers;
  const history = ingestSeries(job);
  if (ingest === undefined) return null;
  return (
    <Panel title="Reading the file">
      {history === null ? (
        <p className="dim">The file is small: its rows were written together with the job, in one batch.</p>
      ) : (
        <>
          <p className="dim">
            Rows were written in batches that grew as long as the database was fast enough. At the end:{' '}
            {plural(Number(ingest.rows), 'row')} per batch, {ingest.reason}.
          </p>
          <LineChart label="Rows per batch while the file came in" unit="rows" series={history.sizes} />
          <LineChart
            label="How long an insert took against its target"
            unit="ms"
            series={history.latencies}
            format={milliseconds}
          />
        </>
      )}
    </Panel>
  );
}
